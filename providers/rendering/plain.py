"""Spells a canonical conversation as roles and texts, for models and people without tool calls."""

from __future__ import annotations

from typing import Any

from providers.blocks import Block, as_blocks, block_text

Message = dict[str, Any]


def plain_messages(messages: list[Message]) -> list[Message]:
    return [{"role": str(message.get("role") or "user"), "content": _text(message)} for message in messages]


def _text(message: Message) -> str:
    parts = [_part(block) for block in as_blocks(message.get("content"))]
    calls = [_call(call) for call in message.get("tool_calls") or ()]
    return "\n".join(part for part in [*parts, *calls] if part)


def _part(block: Block) -> str:
    if block.get("type") in ("thinking", "redacted_thinking"):
        return ""
    return (
        block_text(block) if block.get("type") == "text" else f"[{block.get('type') or 'content'} left out]"
    )


def _call(call: Message) -> str:
    function = call.get("function") or {}
    return f"[calls {function.get('name')} with {function.get('arguments')}]"
