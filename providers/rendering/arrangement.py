"""Puts a conversation into the order that every provider wants, before it is spelled."""

from __future__ import annotations

from typing import Any

from providers.blocks import as_blocks

Message = dict[str, Any]


def arranged(messages: list[Message]) -> list[Message]:
    """Tool results straight after the assistant that asked for them; what was said in between follows."""
    ordered: list[Message] = []
    held_back: list[Message] = []
    after_calls = False
    for message in with_calls_joined(messages):
        if message.get("role") == "assistant":
            ordered += [*held_back, message]
            held_back, after_calls = [], bool(message.get("tool_calls"))
        elif message.get("role") == "tool" or not after_calls:
            ordered.append(message)
        else:
            held_back.append(message)
    return ordered + held_back


def with_calls_joined(messages: list[Message]) -> list[Message]:
    """An assistant's turn that was reported in parts is one message from its first tool call on."""
    joined: list[Message] = []
    for message in messages:
        previous = joined[-1] if joined else {}
        if message.get("role") == "assistant" == previous.get("role") and previous.get("tool_calls"):
            joined[-1] = _joined(previous, message)
        else:
            joined.append(message)
    return joined


def _joined(first: Message, second: Message) -> Message:
    blocks = [*as_blocks(first.get("content")), *as_blocks(second.get("content"))]
    calls = [*(first.get("tool_calls") or ()), *(second.get("tool_calls") or ())]
    return {**first, "content": blocks or None, "tool_calls": calls}
