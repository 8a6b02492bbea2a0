"""Tells conversations and messages apart, so that a history that is sent again and again is recorded once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from gateway.core.requests import ModelRequest
from kernel.errors import ProblemError
from providers.blocks import as_blocks, plain_text
from providers.formats import parse_events

# The beginning of a system prompt tells agents apart; dates and file lists come later and change.
SYSTEM_HEAD = 256
_THOUGHTS = ("thinking", "redacted_thinking")
_EXTERNAL_ID = re.compile(r"[A-Za-z0-9._:@-]{1,128}")


def is_external_id(text: str) -> bool:
    return _EXTERNAL_ID.fullmatch(text) is not None


def derived_id(*, key_id: str, vendor: str, request: ModelRequest) -> str:
    """The same for every call of one conversation: by the name its client gives it, else by how it begins."""
    begins = request.conversation or [system_head(request), request.first_message]
    return "gw-" + _digest([key_id, vendor, begins])[:40]


def system_text(request: ModelRequest) -> str:
    return "\n".join(filter(None, (plain_text(content) for content in request.instructions)))


def system_head(request: ModelRequest) -> str:
    return system_text(request)[:SYSTEM_HEAD]


def canonical_messages(format: str, raw: Any) -> list[dict[str, Any]]:
    """The canonical messages that one vendor message holds; none where we cannot read it."""
    try:
        parsed = parse_events(format, [raw])
    except ProblemError:
        return []
    return [event.message for event in parsed if event.message is not None]


def fingerprint(message: dict[str, Any]) -> str:
    """Equal for an answer and for its repetition in the next request, wherever the cache marks moved to."""
    calls = [
        [call.get("id"), function.get("name"), _arguments(function.get("arguments"))]
        for call in message.get("tool_calls") or []
        if isinstance(function := call.get("function"), dict)
    ]
    content = [_essence(block) for block in as_blocks(message.get("content"))]
    said = [block for block in content if block]
    return _digest([message.get("role"), said, calls, message.get("tool_call_id")])[:32]


def event_ids(conversation: str, fingerprints: Sequence[str]) -> list[str]:
    """One id per message: the same words said twice are two messages."""
    seen: dict[str, int] = {}
    ids = []
    for mark in fingerprints:
        seen[mark] = seen.get(mark, 0) + 1
        ids.append(f"gw:{conversation[:16]}:{mark}:{seen[mark]}")
    return ids


def _essence(block: dict[str, Any]) -> Any:
    if block.get("type") in _THOUGHTS:
        return None
    if block.get("type") == "text":
        return block.get("text")
    return {name: value for name, value in block.items() if name != "cache_control"}


def _arguments(arguments: Any) -> Any:
    try:
        return json.loads(arguments)
    except (TypeError, ValueError, RecursionError):
        return arguments


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
