"""A request's history as events of its session: every message with an id by which it is known again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.conversations import canonical_messages, event_ids, fingerprint, system_text
from gateway.core.listening import Heard
from gateway.measuring import Measured
from gateway.values import Wanted
from kernel.errors import ProblemError
from providers.formats import parse_events
from sessions.models import ReportedEvent

Event = dict[str, Any]
# A history shorter than this is written down again rather than looked up: what is known is dropped later.
WORTH_ASKING = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """`conversation` says how it begins, `events` are its messages, without those that are known already."""

    conversation: Event
    events: list[Event]


def history_of(wanted: Wanted, measured: Measured, *, session_id: str, heard: Heard | None = None) -> History:
    """The request's messages and, once it was heard, the answer."""
    request, format = wanted.request, wanted.protocol.format
    skipped = len(request.messages) - len(_conversation(request.messages))
    pieces = measured.pieces[skipped:]
    marks = [mark for piece in pieces for mark in piece.fingerprints]
    answer = _answer_messages(format, heard) if heard else []
    conversation = request.continues or (marks[0] if marks else "")
    ids = event_ids(conversation, [*marks, *map(fingerprint, answer)])
    known = known_events(session_id, ids) if len(ids) > WORTH_ASKING else set()
    events = []
    position = 0
    for raw, piece in zip(request.messages[skipped:], pieces, strict=True):
        own = ids[position : position + len(piece.fingerprints)]
        position += len(piece.fingerprints)
        if set(own) - known:
            events += _events(own, canonical_messages(format, raw))
    first = ids[0] if ids and not request.continues else ""
    return History(
        conversation={"first": first, "system": system_text(request)},
        events=[*events, *_events(ids[position:], answer)],
    )


def _conversation(messages: Sequence[Any]) -> Sequence[Any]:
    """Without the instructions that stand before it."""
    for position, message in enumerate(messages):
        if not (isinstance(message, dict) and message.get("role") in ("system", "developer")):
            return messages[position:]
    return ()


def _answer_messages(format: str, heard: Heard) -> list[Event]:
    if heard.response is None:
        return []
    if format != "responses":
        return canonical_messages(format, heard.response)
    # One by one, as the next request repeats them.
    output = heard.response.get("output")
    items = output if isinstance(output, list) else []
    return [message for item in items for message in canonical_messages(format, item)]


def known_events(session_id: str, ids: Sequence[str]) -> set[str]:
    rows = ReportedEvent.objects.filter(session_id=session_id, event_id__in=ids)
    return {str(event_id) for event_id in rows.values_list("event_id", flat=True)}


def _events(ids: Iterable[str], messages: Iterable[Event]) -> list[Event]:
    made = [
        {"event_id": event_id, "type": "message", "message": message}
        for event_id, message in zip(ids, messages, strict=False)
    ]
    return [event for event in made if _is_sound(event)]


def _is_sound(event: Event) -> bool:
    """Vendors let pass what our own events may not hold, such as a tool's result without an id."""
    try:
        parse_events("native", [event])
    except ProblemError:
        return False
    return True
