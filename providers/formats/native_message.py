"""Checks a canonical message as an agent reports it; a good one is kept unchanged."""

from __future__ import annotations

from typing import Any

from providers.errors import EventInvalid

Event = dict[str, Any]
ROLES = ("system", "user", "assistant", "tool")


def checked_message(message: Any, pointer: str) -> Event:
    """`message` itself, or the first thing that is wrong with it."""
    if not isinstance(message, dict):
        raise EventInvalid(pointer, "Must be an object.")
    role = message.get("role")
    if role not in ROLES:
        raise EventInvalid(f"{pointer}/role", f"Must be one of {', '.join(ROLES)}.")
    calls = message.get("tool_calls")
    if calls is not None and role != "assistant":
        raise EventInvalid(f"{pointer}/tool_calls", "Only an assistant calls tools.")
    if calls is not None:
        _check_calls(calls, f"{pointer}/tool_calls")
    if role == "tool":
        _require_text(message, "tool_call_id", pointer)
    _check_content(message.get("content"), f"{pointer}/content", may_be_null=bool(calls))
    return message


def _check_content(content: Any, pointer: str, *, may_be_null: bool) -> None:
    if isinstance(content, str):
        return
    if content is None:
        if may_be_null:
            return
        raise EventInvalid(pointer, "Is required unless the assistant calls tools.")
    if not isinstance(content, list):
        raise EventInvalid(pointer, "Must be a text or a list of blocks.")
    for position, block in enumerate(content):
        _check_block(block, f"{pointer}/{position}")


def _check_block(block: Any, pointer: str) -> None:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise EventInvalid(pointer, "Must be a block with a type.")
    if block["type"] == "text" and not isinstance(block.get("text"), str):
        raise EventInvalid(f"{pointer}/text", "Must be a text.")


def _check_calls(calls: Any, pointer: str) -> None:
    if not isinstance(calls, list) or not calls:
        raise EventInvalid(pointer, "Must be a list with at least one call.")
    seen: set[str] = set()
    for position, call in enumerate(calls):
        at = f"{pointer}/{position}"
        if not isinstance(call, dict):
            raise EventInvalid(at, "Must be an object.")
        call_id = _require_text(call, "id", at)
        if call_id in seen:
            raise EventInvalid(f"{at}/id", "Two calls of one message share this id.")
        seen.add(call_id)
        _check_function(call.get("function"), f"{at}/function")


def _check_function(function: Any, pointer: str) -> None:
    if not isinstance(function, dict):
        raise EventInvalid(pointer, "Must be an object with name and arguments.")
    _require_text(function, "name", pointer)
    if not isinstance(function.get("arguments"), str):
        raise EventInvalid(f"{pointer}/arguments", "Must be a text (JSON).")


def _require_text(fields: Event, name: str, pointer: str) -> str:
    text = fields.get(name)
    if not isinstance(text, str) or not text:
        raise EventInvalid(f"{pointer}/{name}", "Must be a text that is not empty.")
    return text
