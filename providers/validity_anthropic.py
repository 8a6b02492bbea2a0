"""Anthropic's rules for messages: alternation, a user first, results at once and first, no blank text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]
ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
USER_TYPES = ("text", "image", "document", "search_result", "container_upload", "tool_result")
FOREIGN_TYPES = ("image_url", "input_audio", "file", "tool_result", "image", "document")


def anthropic_problems(messages: list[Message], open_calls_allowed: bool) -> Iterator[str]:
    expected = "user"
    waiting: list[str] = []
    used: set[str] = set()
    for position, message in enumerate(messages):
        if message.get("role") != expected:
            yield f"message {position} must be the {expected}'s"
        if message.keys() != {"role", "content"}:
            yield f"message {position} has other fields than role and content"
        expected = "assistant" if message.get("role") == "user" else "user"
        blocks = _blocks(message.get("content"))
        yield from _shape(position, message.get("role"), message.get("content"), blocks)
        yield from _results(position, blocks, waiting)
        waiting = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        for call_id in waiting:
            if call_id in used:
                yield f"message {position} uses the id {call_id!r} again"
            used.add(call_id)
    if waiting and not open_calls_allowed:
        yield f"the calls {waiting} have no results"


def _blocks(content: Any) -> list[Message]:
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return [{"type": "text", "text": content}]


def _shape(position: int, role: Any, content: Any, blocks: list[Message]) -> Iterator[str]:
    if not blocks or (isinstance(content, list) and len(blocks) != len(content)):
        yield f"message {position} has no blocks, or some that are none"
    for block in blocks:
        kind = block.get("type")
        if kind == "text" and not (isinstance(block.get("text"), str) and block["text"].strip()):
            yield f"message {position} has blank text"
        if role == "user" and kind not in USER_TYPES:
            yield f"message {position} of the user has a block of type {kind!r}"
        if role == "assistant" and kind in FOREIGN_TYPES:
            yield f"message {position} of the assistant has a block of type {kind!r}"
        if kind == "thinking" and not block.get("signature"):
            yield f"message {position} has a thought without signature"
        if kind == "tool_use":
            yield from _tool_use(position, block)


def _tool_use(position: int, block: Message) -> Iterator[str]:
    if not isinstance(block.get("id"), str) or not ID.fullmatch(block["id"]):
        yield f"message {position} has a call with the id {block.get('id')!r}"
    if not isinstance(block.get("name"), str) or not NAME.fullmatch(block["name"]):
        yield f"message {position} has a call with the name {block.get('name')!r}"
    if not isinstance(block.get("input"), dict):
        yield f"message {position} has a call whose input is no object"


def _results(position: int, blocks: list[Message], waiting: list[str]) -> Iterator[str]:
    kinds = [block.get("type") == "tool_result" for block in blocks]
    if kinds != sorted(kinds, reverse=True):
        yield f"message {position} has results after other blocks"
    answered = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
    if sorted(answered) != sorted(waiting):
        yield f"message {position} answers {answered}, the calls before it were {waiting}"
    for block in blocks:
        for part in block.get("content") or () if isinstance(block.get("content"), list) else ():
            if part.get("type") == "text" and not str(part.get("text") or "").strip():
                yield f"message {position} has a result with blank text"
