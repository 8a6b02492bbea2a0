"""Anthropic messages: requests' messages, responses, and the events of a streamed response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from providers.formats.anthropic_stream import joined_streams
from providers.formats.common import assistant_from_anthropic, nth_id, text_id, unknown, user_from_anthropic
from providers.parsed import ParsedEvent
from providers.usage import usage_from

Event = dict[str, Any]


def parse(events: list[Any]) -> list[ParsedEvent]:
    return [parsed for index, event in joined_streams(events) for parsed in _parse_event(index, event)]


def _parse_event(index: int, event: Any) -> Iterator[ParsedEvent]:
    role = event.get("role") if isinstance(event, dict) and "content" in event else None
    if role == "assistant":
        yield _assistant(index, event)
    elif role == "user":
        yield from _user(index, event)
    elif role == "system":
        message = {"role": "system", "content": event["content"]}
        yield ParsedEvent(kind="message", payload=event, index=index, message=message)
    else:
        yield unknown(index, event, text_id(event.get("id")) if isinstance(event, dict) else None)


def _assistant(index: int, event: Event) -> ParsedEvent:
    response_id = text_id(event.get("id"))
    return ParsedEvent(
        kind="message",
        payload=event,
        index=index,
        event_id=response_id,
        message=assistant_from_anthropic(event["content"]),
        usage=usage_from({"usage": event.get("usage")}, pointer=f"/events/{index}"),
        response_id=response_id,
        model=text_id(event.get("model")),
    )


def _user(index: int, event: Event) -> Iterator[ParsedEvent]:
    for position, message in enumerate(user_from_anthropic(event["content"])):
        yield ParsedEvent(
            kind="message",
            payload=event,
            index=index,
            event_id=nth_id(text_id(event.get("id")), position),
            message=message,
            is_human=message["role"] == "user",
        )
