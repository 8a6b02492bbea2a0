"""What the vendors' adapters share: ids, unknown events, and Anthropic's message shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from providers.blocks import arguments_from_input, as_blocks, compact_content, from_anthropic, tool_call
from providers.parsed import ParsedEvent

MAX_ID_CHARS = 200


def text_id(value: Any) -> str | None:
    """A vendor's id if it can be one of ours, else None."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID_CHARS:
        return None
    return value if is_clean(value) else None


def is_clean(text: str) -> bool:
    """No NUL, no lone surrogate."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def object_of(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; anything else holds none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def unknown(index: int, event: Any, event_id: str | None = None) -> ParsedEvent:
    """Kept and ignored. Its id is set apart: a malformed line must not shadow a good one with the same id."""
    payload = event if isinstance(event, dict) else {"value": event}
    own_id = text_id(f"{event_id}#unknown") if event_id else None
    return ParsedEvent(kind="unknown", payload=payload, index=index, event_id=own_id)


def nth_id(event_id: str | None, position: int) -> str | None:
    """The id of the n-th message of one vendor event: unique, and the same when the event is sent again."""
    if event_id is None or position == 0:
        return event_id
    return text_id(f"{event_id}#{position}")


def assistant_from_anthropic(content: Any) -> dict[str, Any]:
    """An assistant message: tool_use blocks become tool calls, the other blocks stay in order."""
    blocks = as_blocks(content)
    calls = [call_from_anthropic(block) for block in blocks if block.get("type") == "tool_use"]
    rest = [from_anthropic(block) for block in blocks if block.get("type") != "tool_use"]
    if not calls:
        return {"role": "assistant", "content": compact_content(rest)}
    return {"role": "assistant", "content": compact_content(rest) if rest else None, "tool_calls": calls}


def call_from_anthropic(block: dict[str, Any]) -> dict[str, Any]:
    arguments = arguments_from_input(block.get("input"))
    return tool_call(str(block.get("id", "")), str(block.get("name", "")), arguments)


def user_from_anthropic(content: Any) -> Iterator[dict[str, Any]]:
    """A user message: each tool_result becomes a tool message, the rest one user message after them."""
    blocks = as_blocks(content)
    rest = []
    for block in blocks:
        if block.get("type") == "tool_result":
            yield tool_message_from_anthropic(block)
        else:
            rest.append(from_anthropic(block))
    if rest or not blocks:
        yield {"role": "user", "content": compact_content(rest)}


def tool_message_from_anthropic(block: dict[str, Any]) -> dict[str, Any]:
    content = compact_content([from_anthropic(part) for part in as_blocks(block.get("content"))])
    message: dict[str, Any] = {
        "role": "tool",
        "tool_call_id": str(block.get("tool_use_id", "")),
        "content": content,
    }
    if block.get("is_error") is True:
        message["is_error"] = True
    return message
