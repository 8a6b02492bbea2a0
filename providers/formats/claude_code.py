"""Claude Code: stream-json events and transcript lines.

One response is written as several lines that repeat its usage; `message.id` names it. A subagent's lines
(isSidechain, parent_tool_use_id) cost money but are no part of this conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from providers.blocks import as_blocks, plain_text
from providers.formats.common import (
    assistant_from_anthropic,
    nth_id,
    text_id,
    unknown,
    user_from_anthropic,
)
from providers.parsed import ParsedEvent
from providers.usage import usage_from

Event = dict[str, Any]


def parse(events: list[Any]) -> list[ParsedEvent]:
    return [parsed for index, event in enumerate(events) for parsed in _parse_event(index, event)]


def _parse_event(index: int, event: Any) -> Iterator[ParsedEvent]:
    if not isinstance(event, dict):
        yield unknown(index, event)
        return
    reader = {"assistant": _assistant, "user": _user, "result": _result, "summary": _title, "system": _system}
    kind = event.get("type")
    parse_one = reader.get(kind) if isinstance(kind, str) else None
    parsed = list(parse_one(index, event)) if parse_one else []
    yield from parsed or [unknown(index, event, text_id(event.get("uuid")))]


def _assistant(index: int, event: Event) -> Iterator[ParsedEvent]:
    message = event.get("message")
    if not isinstance(message, dict) or "content" not in message:
        return
    if event.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
        # Written by the client, not by a model; its zero usage must not reset the meter.
        yield ParsedEvent(
            kind="note",
            payload=event,
            index=index,
            event_id=text_id(event.get("uuid")),
            text=plain_text(message["content"]),
        )
        return
    usage = usage_from({"usage": message.get("usage")}, pointer=f"/events/{index}/message")
    subagent = _is_subagent(event)
    if subagent and usage is None:
        return
    yield ParsedEvent(
        kind="usage" if subagent else "message",
        payload=event,
        index=index,
        event_id=text_id(event.get("uuid")),
        message=None if subagent else assistant_from_anthropic(message["content"]),
        usage=usage,
        usage_scope="subagent" if subagent else "response",
        response_id=text_id(message.get("id")),
        model=text_id(message.get("model")),
    )


def _user(index: int, event: Event) -> Iterator[ParsedEvent]:
    message = event.get("message")
    if not isinstance(message, dict) or "content" not in message or _is_subagent(event):
        return
    if event.get("isCompactSummary") is True:
        yield _compact_summary(index, event, message["content"])
        return
    for position, canonical in enumerate(user_from_anthropic(message["content"])):
        yield ParsedEvent(
            kind="message",
            payload=event,
            index=index,
            event_id=nth_id(text_id(event.get("uuid")), position),
            message=canonical,
            is_human=canonical["role"] == "user" and event.get("isMeta") is not True,
        )


def _compact_summary(index: int, event: Event, content: Any) -> ParsedEvent:
    return ParsedEvent(
        kind="summary",
        payload=event,
        index=index,
        event_id=text_id(event.get("uuid")),
        message={"role": "user", "content": plain_text(as_blocks(content))},
        text=plain_text(content),
        starts_epoch=True,
    )


def _title(index: int, event: Event) -> Iterator[ParsedEvent]:
    """A `summary` line names a conversation; it folds nothing away, so no epoch starts."""
    if isinstance(event.get("summary"), str):
        yield ParsedEvent(kind="summary", payload=event, index=index, text=event["summary"])


def _system(index: int, event: Event) -> Iterator[ParsedEvent]:
    if event.get("subtype") == "compact_boundary":
        event_id = text_id(event.get("uuid"))
        yield ParsedEvent(kind="summary", payload=event, index=index, event_id=event_id, starts_epoch=True)


def _result(index: int, event: Event) -> Iterator[ParsedEvent]:
    usage = usage_from(event, pointer=f"/events/{index}")
    if usage is not None:
        yield ParsedEvent(
            kind="usage",
            payload=event,
            index=index,
            event_id=text_id(event.get("uuid")),
            usage=usage,
            usage_scope="result",
        )


def _is_subagent(event: Event) -> bool:
    return event.get("isSidechain") is True or event.get("parent_tool_use_id") is not None
