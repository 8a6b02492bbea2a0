"""OpenAI Responses: input and output items, whole responses, and the closing event of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from providers.blocks import as_blocks, compact_content, from_responses, plain_text, tool_call
from providers.formats.common import nth_id, objects_in, text_id, unknown
from providers.parsed import ParsedEvent
from providers.usage import usage_from

Event = dict[str, Any]
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
CALLS = ("function_call", "custom_tool_call", "local_shell_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
CLOSING = ("response.completed", "response.incomplete", "response.failed")


def parse(events: list[Any]) -> list[ParsedEvent]:
    return [parsed for index, event in enumerate(events) for parsed in _parse_event(index, event)]


def _parse_event(index: int, event: Any) -> Iterator[ParsedEvent]:
    if not isinstance(event, dict):
        yield unknown(index, event)
        return
    parsed: list[ParsedEvent]
    if event.get("type") in CLOSING and isinstance(event.get("response"), dict):
        parsed = list(_response(index, event["response"], f"/events/{index}/response"))
    elif event.get("object") == "response":
        parsed = list(_response(index, event, f"/events/{index}"))
    elif event.get("type") == "compaction":
        parsed = [ParsedEvent(kind="summary", payload=event, index=index, starts_epoch=True)]
    else:
        parsed = _item(index, event)
    yield from parsed or [unknown(index, event, text_id(event.get("id")))]


def _item(index: int, event: Event) -> list[ParsedEvent]:
    message = message_from_item(event)
    if message is None:
        return []
    parsed = ParsedEvent(
        kind="message",
        payload=event,
        index=index,
        event_id=text_id(event.get("id")),
        message=message,
        is_human=message["role"] == "user",
    )
    return [parsed]


def _response(index: int, response: Event, pointer: str) -> Iterator[ParsedEvent]:
    """One response: its texts and calls are one assistant message, the results of built-in tools follow."""
    usage = usage_from({"usage": response.get("usage")}, provider="responses", pointer=pointer)
    output = response.get("output")
    messages = join_assistant(
        [m for item in objects_in(output) if (m := message_from_item(item)) is not None]
    )
    response_id = text_id(response.get("id"))
    if not messages and usage is None:
        return
    for position, message in enumerate(messages or [None]):
        yield ParsedEvent(
            kind="message" if message else "usage",
            payload=response,
            index=index,
            event_id=nth_id(response_id, position),
            message=message,
            usage=usage if position == 0 else None,
            response_id=response_id,
            model=text_id(response.get("model")),
        )


def join_assistant(messages: list[Event]) -> list[Event]:
    """Neighbouring assistant messages as one, with all their texts and calls."""
    joined: list[Event] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"] == "assistant":
            joined[-1] = _two_in_one(joined[-1], message)
        else:
            joined.append(message)
    return joined


def _two_in_one(first: Event, second: Event) -> Event:
    blocks = [*as_blocks(first["content"]), *as_blocks(second["content"])]
    calls = [*first.get("tool_calls", []), *second.get("tool_calls", [])]
    if not calls:
        return {"role": "assistant", "content": compact_content(blocks)}
    return {"role": "assistant", "content": compact_content(blocks) if blocks else None, "tool_calls": calls}


def message_from_item(item: Event) -> Event | None:
    """A canonical message, or None for what is no part of the conversation's text (reasoning, searches)."""
    kind = item.get("type", "message")
    if kind == "message" and item.get("role") in tuple(ROLES) and "content" in item:
        blocks = [from_responses(block) for block in as_blocks(item["content"])]
        return {"role": ROLES[item["role"]], "content": compact_content(blocks)}
    if kind in CALLS:
        return {"role": "assistant", "content": None, "tool_calls": [_call(item)]}
    if kind in OUTPUTS:
        return _output(item)
    return None


def _call(item: Event) -> Event:
    name = item.get("name") or str(item.get("type")).removesuffix("_call")
    arguments = next((item[key] for key in ("arguments", "input", "action") if item.get(key) is not None), "")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return tool_call(str(item.get("call_id") or item.get("id") or ""), str(name), text)


def _output(item: Event) -> Event:
    output = item.get("output")
    failed = isinstance(output, dict) and output.get("success") is False
    if isinstance(output, dict) and "content" in output:
        output = output["content"]
    blocks = [from_responses(block) for block in as_blocks(output)]
    message: Event = {
        "role": "tool",
        "tool_call_id": str(item.get("call_id") or item.get("id") or ""),
        "content": compact_content(blocks),
    }
    if failed:
        message["is_error"] = True
    return message


def item_text(item: Event) -> str:
    """The text of a message item."""
    return plain_text(item.get("content"))
