"""OpenAI chat: messages, completions, and the chunks of a streamed completion."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from providers.blocks import as_blocks, compact_content, tool_call
from providers.formats.common import text_id, unknown
from providers.formats.openai_chunks import joined_chunks
from providers.parsed import ParsedEvent
from providers.usage import usage_from

Event = dict[str, Any]
ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
RESPONSE_FIELDS = {"usage", "refusal", "annotations", "audio", "function_call", "tool_calls"}


def parse(events: list[Any]) -> list[ParsedEvent]:
    joined = joined_chunks(events)
    return [parsed for index, event in joined for parsed in _parse_event(index, event)]


def _parse_event(index: int, event: Any) -> Iterator[ParsedEvent]:
    parsed: ParsedEvent | None = None
    if isinstance(event, dict) and isinstance(event.get("choices"), list):
        parsed = _completion(index, event)
    elif isinstance(event, dict) and event.get("role") in tuple(ROLES):
        parsed = _message(index, event)
    yield parsed or unknown(index, event, text_id(event.get("id")) if isinstance(event, dict) else None)


def _completion(index: int, event: Event) -> ParsedEvent | None:
    """A response: its first choice is what the agent goes on with."""
    usage = usage_from({"usage": event.get("usage")}, pointer=f"/events/{index}")
    first = event["choices"][0] if event["choices"] else None
    message = first.get("message") if isinstance(first, dict) else None
    canonical = canonical_message(message) if isinstance(message, dict) else None
    if canonical is None and usage is None:
        return None
    response_id = text_id(event.get("id"))
    return ParsedEvent(
        kind="message" if canonical else "usage",
        payload=event,
        index=index,
        event_id=response_id,
        message=canonical,
        usage=usage,
        response_id=response_id,
        model=text_id(event.get("model")),
    )


def _message(index: int, event: Event) -> ParsedEvent | None:
    canonical = canonical_message(event)
    if canonical is None:
        return None
    return ParsedEvent(
        kind="message",
        payload=event,
        index=index,
        message=canonical,
        is_human=canonical["role"] == "user",
        usage=usage_from({"usage": event.get("usage")}, pointer=f"/events/{index}"),
    )


def canonical_message(message: Event) -> Event | None:
    """The message without what belongs to the response; None when it is no message at all."""
    role = ROLES.get(str(message.get("role", "assistant")))
    if role is None:
        return None
    kept = {key: field for key, field in message.items() if key not in RESPONSE_FIELDS}
    canonical: Event = {**kept, "role": role, "content": _content(message.get("content"))}
    calls = _calls(message) if role == "assistant" else []
    if calls:
        canonical["tool_calls"] = calls
    elif canonical["content"] is None:
        canonical["content"] = message["refusal"] if isinstance(message.get("refusal"), str) else ""
    if role == "tool":
        canonical["tool_call_id"] = str(message.get("tool_call_id") or message.get("name") or "")
    return canonical


def _content(content: Any) -> str | list[Event] | None:
    if isinstance(content, str):
        return content
    blocks = as_blocks(content)
    return compact_content(blocks) if blocks else None


def _calls(message: Event) -> list[Event]:
    calls = message.get("tool_calls")
    listed = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    old_style = message.get("function_call")
    if isinstance(old_style, dict):
        listed.append({"id": old_style.get("name", ""), "function": old_style})
    return [_call(call) for call in listed]


def _call(call: Event) -> Event:
    """A function call, or a custom tool's call, whose free-form input takes the arguments' place."""
    custom = call.get("custom")
    function = custom if isinstance(custom, dict) else call.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments", function.get("input", ""))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return tool_call(str(call.get("id") or ""), str(function.get("name") or ""), text)
