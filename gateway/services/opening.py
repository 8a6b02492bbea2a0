"""Opens a call: who asks, for which session, how large it is, and the money that is set aside for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from budgets.services.models import ResolvedModel, resolve_model
from gateway.measuring import Measured, Scale, held_input
from gateway.services import call_jobs
from gateway.services.assembling import assembled, may_assemble, with_pieces_of
from gateway.services.call_sessions import AGENTS_OWN, Found, session_for
from gateway.values import OpenCall, Wanted
from kernel.errors import BadRequest, ProblemError, Unauthenticated
from providers.formats.common import text_id
from sessions.errors import ContextTooLarge
from sessions.services.frames import frame_of
from sessions.services.holds import HoldWish, place_hold
from teams.auth import Caller, caller_for

HOLD_TTL = timedelta(minutes=10)
LONG_CONTEXT_BETA, LONG_CONTEXT = "context-1m", 1_000_000
# A revoked key must be refused within a second.
_CALLER_SECONDS = 0.5

scale = Scale()
_callers: dict[str, tuple[float, Caller]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call that has been looked at: all that takes time and no lock."""

    wanted: Wanted
    caller: Caller
    found: Found
    model: ResolvedModel
    measured: Measured
    wish: HoldWish
    body: bytes | None


def authenticated(key: str) -> Caller:
    now = time.monotonic()
    known = _callers.get(key)
    if known is not None and known[0] > now:
        return known[1]
    caller = caller_for(key)
    if caller is None:
        _callers.pop(key, None)
        raise Unauthenticated("Send a ctxbudget API key where your SDK puts its key.")
    caller.require("agent")
    if len(_callers) > 1000:
        _callers.clear()
    _callers[key] = now + _CALLER_SECONDS, caller
    return caller


def open_call(wanted: Wanted) -> OpenCall | ProblemError:
    """The call with its hold, or the refusal: a pause at a cap is committed, so it is not raised."""
    return hold_call(prepare_call(wanted))


def prepare_call(wanted: Wanted) -> Prepared:
    caller, request = authenticated(wanted.key), wanted.request
    if text_id(request.model) is None:
        raise BadRequest("The request names no model that could be one.")
    format = wanted.protocol.format
    assembles = may_assemble(caller.project_id, format)
    found = session_for(
        caller=caller,
        vendor=wanted.protocol.vendor,
        request=request,
        ref=wanted.session_ref,
        profile=None if assembles else AGENTS_OWN,
    )
    model = resolve_model(project_id=caller.project_id, name=request.model)
    measured = scale.measure(request, format=format, model=model)
    sent = assembled(wanted, found.session, measured) if assembles else None
    if sent is not None:
        request = sent.request
        measured = with_pieces_of(scale.measure(request, format=format, model=model), measured)
    if request.model == found.session.model:
        measured = measured.corrected(found.session.ratio_bp)
    _refuse_what_cannot_fit(wanted, model, measured)
    # What a chained call continues is not in it, and is paid for again.
    behind = found.session.used_tokens if request.continues else 0
    wish = HoldWish(
        input_tokens=held_input(measured.high + behind, model.price, request.cache_lifetime),
        output_tokens=None if request.max_output is None else request.max_output * request.choices,
        model=request.model,
        ttl=HOLD_TTL,
    )
    return Prepared(
        wanted=wanted,
        caller=caller,
        found=found,
        model=model,
        measured=measured,
        wish=wish,
        body=sent.body if sent else None,
    )


@transaction.atomic
def hold_call(prepared: Prepared) -> OpenCall | ProblemError:
    """Hold and job are written together: money that is set aside has somebody to settle it."""
    caller, session = prepared.caller, prepared.found.session
    placed = place_hold(
        project_id=caller.project_id, ref=session.pk, key_id=caller.key_id, wish=prepared.wish
    )
    if isinstance(placed, ProblemError):
        return placed
    hold = placed.admission.hold
    return OpenCall(
        wanted=prepared.wanted,
        caller=caller,
        session_id=session.pk,
        session_source=prepared.found.source,
        keeps_content=session.keeps_content,
        hold_id=hold.pk,
        held_nano=hold.amount_nano,
        remaining_nano=placed.admission.remaining_nano,
        expires_at=time.monotonic() + HOLD_TTL.total_seconds(),
        job_id=call_jobs.begin(project_id=caller.project_id, session_id=session.pk, hold_id=hold.pk),
        model=prepared.model,
        measured=prepared.measured,
        level=session.level,
        used=session.used_tokens,
        total=frame_of(session).total,
        body=prepared.body,
    )


def _refuse_what_cannot_fit(wanted: Wanted, model: ResolvedModel, measured: Measured) -> None:
    """Only what certainly exceeds a window that we know: agents that own their context know best."""
    window = model.context_window
    if LONG_CONTEXT_BETA in wanted.beta:
        window = max(window, LONG_CONTEXT)
    if not model.is_known or measured.low <= window:
        return
    raise ContextTooLarge(
        f"Context too large for model {model.name}: input uses {measured.tokens:,} tokens,"
        f" max allowed is {window:,} tokens. Drop or summarise older messages.",
        model=model.name,
        used=measured.tokens,
        max_input=window,
    )
