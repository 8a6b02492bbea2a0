"""Closes a call: settles what it cost, as reported or as far as is known, and keeps open ones alive."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db import transaction

from budgets.core.cost import cost_nano_usd
from budgets.core.usage import TokenUsage
from budgets.models import Hold
from budgets.services import holds
from budgets.services.holds import Actual
from budgets.services.models import counter
from budgets.tokens import message_tokens
from gateway.conversations import canonical_messages
from gateway.core.listening import Heard
from gateway.services import call_jobs
from gateway.services.call_sessions import recent_responses
from gateway.services.opening import HOLD_TTL
from gateway.services.recording import recording
from gateway.values import OpenCall
from kernel.errors import ProblemError
from providers.formats.common import text_id
from providers.usage import usage_from
from sessions.services.holds import settle_hold

# A hold that ends sooner than this while its call still runs is extended.
EXTEND_BEFORE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What is to be settled, and what a worker is to record."""

    call: OpenCall
    actual: Actual
    payload: dict[str, Any]


def void_call(call: OpenCall) -> None:
    """Nothing was sent, or the upstream refused it: nothing is paid."""
    with transaction.atomic():
        holds.void(project_id=call.caller.project_id, hold_id=call.hold_id)
        call_jobs.end(call.job_id)


def close_call(call: OpenCall, heard: Heard) -> Hold:
    return settle_call(prepare_close((call, heard)))


def prepare_close(ended: tuple[OpenCall, Heard]) -> Closing:
    call, heard = ended
    usage, source = usage_of(call, heard)
    response_id = _response_id(call, heard)
    return Closing(
        call=call,
        actual=Actual(usage=usage, response_id=response_id, source=source),
        payload=recording(call, heard, usage, response_id),
    )


@transaction.atomic
def settle_call(closing: Closing) -> Hold:
    """Settles the hold and hands the rest to a worker, both or neither."""
    call = closing.call
    hold = settle_hold(project_id=call.caller.project_id, hold_id=call.hold_id, actual=closing.actual)
    call_jobs.hand_over(call.job_id, closing.payload)
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
