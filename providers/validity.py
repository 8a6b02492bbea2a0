"""Says what a provider would refuse in a list of messages; knows nothing of how they were rendered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from providers.errors import FormatUnknown
from providers.validity_anthropic import anthropic_problems

Message = dict[str, Any]
OPENAI_ROLES = ("system", "developer", "user", "assistant", "tool")
OPENAI_KEYS = {"role", "content", "name", "tool_calls", "tool_call_id", "refusal"}
OPENAI_PARTS = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
    "system": ("text",),
    "developer": ("text",),
}


def validate(messages: list[Message], format: str, *, open_calls_allowed: bool = False) -> list[str]:
    """The problems, in order; an empty list is valid.

    `open_calls_allowed`: the agent itself will append the results of the last message's calls.
    """
    if not messages:
        return ["there are no messages"]
    if format == "openai":
        return list(_openai_problems(messages, open_calls_allowed))
    if format == "anthropic":
        return list(anthropic_problems(messages, open_calls_allowed))
    if format == "plain":
        return list(_plain_problems(messages))
    raise FormatUnknown("/format", "Must be openai, anthropic or plain.")


def _plain_problems(messages: list[Message]) -> Iterator[str]:
    for position, message in enumerate(messages):
        if message.keys() != {"role", "content"} or not isinstance(message["content"], str):
            yield f"message {position} is not a role with a text"


def _openai_problems(messages: list[Message], open_calls_allowed: bool) -> Iterator[str]:
    waiting: set[str] = set()
    for position, message in enumerate(messages):
        role = message.get("role")
        if role not in OPENAI_ROLES:
            yield f"message {position} has the role {role!r}"
            continue
        yield from _openai_shape(position, message)
        if role == "tool":
            call_id = message.get("tool_call_id")
            if call_id not in waiting:
                yield f"message {position} answers {call_id!r}, which the assistant before it did not call"
            waiting.discard(str(call_id))
            continue
        if waiting:
            yield f"message {position} comes before the results of {sorted(waiting)}"
        waiting = {str(call.get("id")) for call in message.get("tool_calls") or ()}
    if waiting and not (open_calls_allowed and messages[-1].get("role") == "assistant"):
        yield f"the calls {sorted(waiting)} have no results"


def _openai_shape(position: int, message: Message) -> Iterator[str]:
    role, content, calls = message["role"], message.get("content"), message.get("tool_calls")
    if message.keys() - OPENAI_KEYS:
        yield f"message {position} has unknown fields {sorted(message.keys() - OPENAI_KEYS)}"
    if content is None and not (role == "assistant" and calls):
        yield f"message {position} has no content"
    elif isinstance(content, list):
        yield from _openai_parts(position, role, content)
    elif content is not None and not isinstance(content, str):
        yield f"message {position} has content that is neither text nor parts"
    if calls is not None:
        yield from _openai_calls(position, role, calls)


def _openai_parts(position: int, role: str, parts: list[Any]) -> Iterator[str]:
    if not parts:
        yield f"message {position} has an empty list as content"
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in OPENAI_PARTS[role]:
            yield f"message {position} of the {role} has a part of type {kind!r}"
        elif kind == "text" and not isinstance(part.get("text"), str):
            yield f"message {position} has a text part without text"


def _openai_calls(position: int, role: str, calls: Any) -> Iterator[str]:
    if role != "assistant" or not isinstance(calls, list) or not calls:
        yield f"message {position} has tool_calls that are no assistant's calls"
        return
    ids = [call.get("id") for call in calls]
    if len(set(ids)) != len(ids):
        yield f"message {position} calls twice with one id"
    for call in calls:
        function = call.get("function") or {}
        if not isinstance(call.get("id"), str) or not 0 < len(call["id"]) <= 40:
            yield f"message {position} has a call with the id {call.get('id')!r}"
        if not function.get("name") or not isinstance(function.get("arguments"), str):
            yield f"message {position} has a call without name or argument text"
