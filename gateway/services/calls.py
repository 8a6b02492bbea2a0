"""A model call from hold to settlement: nothing is sent before the money is set aside."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from django.db import transaction

from budgets.core.cost import cost_nano_usd
from budgets.core.usage import TokenUsage
from budgets.models import Hold
from budgets.services import holds
from budgets.services.holds import Actual
from budgets.services.models import ResolvedModel, counter, resolve_model
from budgets.tokens import message_tokens
from gateway.conversations import canonical_messages
from gateway.core.listening import Heard
from gateway.measuring import Measured, Scale, held_input
from gateway.services import call_jobs
from gateway.services.call_sessions import Found, recent_responses, session_for
from gateway.services.recording import recording
from gateway.values import OpenCall, Wanted
from kernel.errors import BadRequest, ProblemError, Unauthenticated
from providers.formats.common import text_id
from providers.usage import usage_from
from sessions.errors import ContextTooLarge
from sessions.services.frames import frame_of
from sessions.services.holds import HoldWish, place_hold, settle_hold
from teams.auth import Caller, caller_for

HOLD_TTL = timedelta(minutes=10)
# A hold that ends sooner than this while its call still runs is extended.
EXTEND_BEFORE = timedelta(minutes=5)
LONG_CONTEXT_BETA, LONG_CONTEXT = "context-1m", 1_000_000
# A revoked key must be refused within a second.
_CALLER_SECONDS = 0.5

scale = Scale()
_callers: dict[str, tuple[float, Caller]] = {}


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
    caller, request = authenticated(wanted.key), wanted.request
    if text_id(request.model) is None:
        raise BadRequest("The request names no model that could be one.")
    found = session_for(caller=caller, vendor=wanted.protocol.vendor, request=request, ref=wanted.session_ref)
    model = resolve_model(project_id=caller.project_id, name=request.model)
    measured = scale.measure(request, format=wanted.protocol.format, model=model)
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
    return _held(wanted, caller, found, model, measured, wish)


@transaction.atomic
def _held(
    wanted: Wanted,
    caller: Caller,
    found: Found,
    model: ResolvedModel,
    measured: Measured,
    wish: HoldWish,
) -> OpenCall | ProblemError:
    session = found.session
    placed = place_hold(project_id=caller.project_id, ref=session.pk, key_id=caller.key_id, wish=wish)
    if isinstance(placed, ProblemError):
        return placed
    hold = placed.admission.hold
    return OpenCall(
        wanted=wanted,
        caller=caller,
        session_id=session.pk,
        session_source=found.source,
        keeps_content=session.keeps_content,
        hold_id=hold.pk,
        held_nano=hold.amount_nano,
        remaining_nano=placed.admission.remaining_nano,
        expires_at=time.monotonic() + HOLD_TTL.total_seconds(),
        job_id=call_jobs.begin(project_id=caller.project_id, session_id=session.pk, hold_id=hold.pk),
        model=model,
        measured=measured,
        level=session.level,
        used=session.used_tokens,
        total=frame_of(session).total,
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


def void_call(call: OpenCall) -> None:
    """Nothing was sent, or the upstream refused it: nothing is paid."""
    with transaction.atomic():
        holds.void(project_id=call.caller.project_id, hold_id=call.hold_id)
        call_jobs.end(call.job_id)


def close_call(call: OpenCall, heard: Heard) -> Hold:
    """Settles what the call cost, as reported or as far as is known, and hands the rest to a worker."""
    usage, source = usage_of(call, heard)
    response_id = _response_id(call, heard)
    with transaction.atomic():
        hold = settle_hold(
            project_id=call.caller.project_id,
            hold_id=call.hold_id,
            actual=Actual(usage=usage, response_id=response_id, source=source),
        )
        call_jobs.hand_over(call.job_id, recording(call, heard, usage, response_id))
    return hold


def usage_of(call: OpenCall, heard: Heard) -> tuple[TokenUsage, str]:
    """What the vendor reported at the end; before the end, its input counts and what we heard ourselves."""
    reported = _reported(call, heard)
    if reported is not None and heard.complete:
        return reported, "reported"
    spoken = _spoken_tokens(call, heard)
    if reported is None:
        return TokenUsage(input_tokens=call.measured.tokens, output_tokens=spoken), "estimated"
    return (
        TokenUsage(
            input_tokens=reported.input_tokens,
            cache_read_tokens=reported.cache_read_tokens,
            cache_write_5m_tokens=reported.cache_write_5m_tokens,
            cache_write_1h_tokens=reported.cache_write_1h_tokens,
            output_tokens=max(reported.output_tokens, spoken),
            reasoning_tokens=reported.reasoning_tokens,
        ),
        "estimated",
    )


def cost_of(call: OpenCall, heard: Heard) -> int | None:
    return cost_nano_usd(usage_of(call, heard)[0], call.model.price)


def _reported(call: OpenCall, heard: Heard) -> TokenUsage | None:
    if heard.usage is None:
        return None
    try:
        return usage_from({"usage": heard.usage}, provider=call.wanted.protocol.format)
    except ProblemError:
        return None


def _spoken_tokens(call: OpenCall, heard: Heard) -> int:
    """Of the answer itself: what frames a message in a prompt is no output."""
    chosen = counter(call.model)
    frame = message_tokens(chosen, {"role": "assistant", "content": ""})
    messages = canonical_messages(call.wanted.protocol.format, heard.response) if heard.response else []
    return chosen.count(heard.beside) + sum(message_tokens(chosen, message) - frame for message in messages)


def _response_id(call: OpenCall, heard: Heard) -> str:
    """The vendor's id, so that the same call reported as an event counts once; our own where it is in use."""
    vendors = text_id(heard.response_id)
    if vendors is None:
        return call.hold_id
    is_new = recent_responses.note(call.caller.project_id, vendors, call.session_id)
    return vendors if is_new else call.hold_id


def keep_calls_open(running: Sequence[OpenCall]) -> dict[str, OpenCall]:
    """Renews the leases of running calls; returns those whose hold was extended, by their job."""
    call_jobs.renew([call.job_id for call in running])
    now = time.monotonic()
    due = [call for call in running if call.expires_at < now + EXTEND_BEFORE.total_seconds()]
    for call in due:
        holds.extend(project_id=call.caller.project_id, hold_id=call.hold_id, ttl=HOLD_TTL)
    return {call.job_id: replace(call, expires_at=now + HOLD_TTL.total_seconds()) for call in due}


def close_orphan(*, project_id: str, hold_id: str) -> str:
    """A gateway died during the call. Nobody saw the answer, so all that was set aside for it counts."""
    hold = holds.find_hold(project_id=project_id, hold_id=hold_id)
    if hold.state not in (Hold.State.OPEN, Hold.State.EXPIRED):
        return str(hold.state)
    usage = TokenUsage(input_tokens=hold.estimated_input or 0, output_tokens=hold.estimated_output or 0)
    cost = None if hold.unpriced else hold.amount_nano
    actual = Actual(usage=usage, cost_nano=cost, response_id=hold.pk, source="estimated")
    return str(settle_hold(project_id=project_id, hold_id=hold_id, actual=actual).state)
