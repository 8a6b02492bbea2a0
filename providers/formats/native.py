"""The product's own events, read strictly: a wrong field is refused, an unknown type is kept."""

from __future__ import annotations

from typing import Any

from providers.errors import EventInvalid
from providers.formats.common import MAX_ID_CHARS, is_clean, unknown
from providers.formats.native_message import checked_message
from providers.parsed import Kind, ParsedEvent
from providers.usage import usage_from

Event = dict[str, Any]
MAX_NAME_CHARS = 255
MAX_TEXT_CHARS = 1_048_576

# Per type: field -> (required, longest text).
FIELDS: dict[Kind, dict[str, tuple[bool, int]]] = {
    "state_change": {"previous": (False, MAX_NAME_CHARS), "new": (True, MAX_NAME_CHARS)},
    "dead_end": {"description": (True, MAX_TEXT_CHARS)},
    "phase": {"phase": (True, MAX_NAME_CHARS)},
    "story_complete": {"epic": (False, MAX_NAME_CHARS), "story": (True, MAX_NAME_CHARS)},
    "subagent_complete": {"subagent": (True, MAX_NAME_CHARS), "batch": (False, MAX_NAME_CHARS)},
    "protocol_load": {"name": (True, MAX_NAME_CHARS)},
    "protocol_unload": {"name": (True, MAX_NAME_CHARS)},
    "checkpoint": {
        "epic": (False, MAX_NAME_CHARS),
        "story": (False, MAX_NAME_CHARS),
        "phase": (False, MAX_NAME_CHARS),
        "task": (False, MAX_NAME_CHARS),
        "commit": (False, MAX_NAME_CHARS),
    },
    "note": {"text": (True, MAX_TEXT_CHARS)},
}
COMMON_FIELDS = {"event_id", "type"}


def parse(events: list[Any]) -> list[ParsedEvent]:
    return [_parse_event(index, event) for index, event in enumerate(events)]


def _parse_event(index: int, event: Any) -> ParsedEvent:
    pointer = f"/events/{index}"
    if not isinstance(event, dict):
        raise EventInvalid(pointer, "Must be an object.")
    kind = event.get("type")
    if not isinstance(kind, str) or not kind:
        raise EventInvalid(f"{pointer}/type", "Must name the event's type.")
    event_id = _event_id(event, pointer)
    if kind == "message":
        return _message(index, event, event_id, pointer)
    if kind == "usage":
        return _usage(index, event, event_id, pointer)
    for known, fields in FIELDS.items():
        if kind == known:
            payload = _numbered_batch(event) if known == "subagent_complete" else event
            _check_fields(payload, fields, pointer)
            text = event["text"] if known == "note" else None
            return ParsedEvent(kind=known, payload=payload, index=index, event_id=event_id, text=text)
    return unknown(index, event, event_id)


def _numbered_batch(event: Event) -> Event:
    """Batches may be numbers; their name is the digits."""
    batch = event.get("batch")
    return {**event, "batch": str(batch)} if type(batch) is int else event


def _event_id(event: Event, pointer: str) -> str | None:
    if event.get("event_id") is None:
        return None
    return _checked_text(event["event_id"], f"{pointer}/event_id", MAX_ID_CHARS)


def _message(index: int, event: Event, event_id: str | None, pointer: str) -> ParsedEvent:
    _refuse_unknown(event, {"message", "pinned", "model", "response_id", "usage"}, pointer)
    message = checked_message(event.get("message"), f"{pointer}/message")
    pinned = event.get("pinned", False)
    if not isinstance(pinned, bool):
        raise EventInvalid(f"{pointer}/pinned", "Must be true or false.")
    return ParsedEvent(
        kind="message",
        payload=event,
        index=index,
        event_id=event_id,
        message=message,
        is_human=message["role"] == "user",
        pinned=pinned,
        usage=usage_from({"usage": event.get("usage")}, pointer=pointer),
        response_id=_optional_text(event, "response_id", pointer),
        model=_optional_text(event, "model", pointer),
    )


def _usage(index: int, event: Event, event_id: str | None, pointer: str) -> ParsedEvent:
    _refuse_unknown(event, {"usage", "model", "response_id"}, pointer)
    usage = usage_from({"usage": event.get("usage")}, pointer=pointer)
    if usage is None:
        raise EventInvalid(f"{pointer}/usage", "Must be an object with token counts.")
    return ParsedEvent(
        kind="usage",
        payload=event,
        index=index,
        event_id=event_id,
        usage=usage,
        response_id=_optional_text(event, "response_id", pointer),
        model=_optional_text(event, "model", pointer),
    )


def _check_fields(event: Event, fields: dict[str, tuple[bool, int]], pointer: str) -> None:
    _refuse_unknown(event, set(fields), pointer)
    for name, (required, longest) in fields.items():
        text = event.get(name)
        if text is None and required:
            raise EventInvalid(f"{pointer}/{name}", "Is required.")
        if required or text not in (None, ""):
            _checked_text(text, f"{pointer}/{name}", longest)


def _refuse_unknown(event: Event, known: set[str], pointer: str) -> None:
    for name in event:
        if name not in known and name not in COMMON_FIELDS:
            raise EventInvalid(f"{pointer}/{name}", "Is not a field of this event.", code="unknown_field")


def _optional_text(event: Event, name: str, pointer: str) -> str | None:
    if event.get(name) is None:
        return None
    return _checked_text(event[name], f"{pointer}/{name}", MAX_ID_CHARS)


def _checked_text(value: Any, pointer: str, longest: int) -> str:
    if not isinstance(value, str) or not value:
        raise EventInvalid(pointer, "Must be a text that is not empty.")
    if len(value) > longest:
        raise EventInvalid(pointer, f"Must have at most {longest} characters.")
    if not is_clean(value):
        raise EventInvalid(pointer, "Must not hold NUL or lone surrogates.", code="invalid_text")
    return value
