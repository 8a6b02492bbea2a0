"""Builds stored messages for tests in a few words."""

import json
from typing import Any

from sessions.core.message import StoredMessage, stored_message


def count(text: str) -> int:
    """A token for every four characters, rounded up."""
    return -(-len(text) // 4)


def _count_body(body: dict[str, Any]) -> int:
    return count(json.dumps(body.get("tool_calls") or "") + str(body.get("content") or "")) + 4


def user(seq: int, content: Any, *, pinned: bool = False) -> StoredMessage:
    body = {"role": "user", "content": content}
    return stored_message(seq=seq, body=body, count_message=_count_body, pinned=pinned)


def assistant(seq: int, text: str | None = None, **calls: tuple[str, dict[str, Any]]) -> StoredMessage:
    """`assistant(3, "text", call_id=("Tool", {...}))`."""
    body: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        body["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for call_id, (name, arguments) in calls.items()
        ]
    return stored_message(seq=seq, body=body, count_message=_count_body)


def result(seq: int, call_id: str, text: str) -> StoredMessage:
    body = {"role": "tool", "tool_call_id": call_id, "content": text}
    return stored_message(seq=seq, body=body, count_message=_count_body)


def failing_bash(first_seq: int, command: str, error: str, times: int) -> list[StoredMessage]:
    steps: list[StoredMessage] = []
    for attempt in range(times):
        seq = first_seq + 2 * attempt
        steps.append(assistant(seq, **{f"c{seq}": ("Bash", {"command": command})}))
        steps.append(result(seq + 1, f"c{seq}", error))
    return steps


def tool_loop(first_seq: int, turns: int, *, output_characters: int = 400) -> list[StoredMessage]:
    """An agent that reads one file after the other."""
    messages: list[StoredMessage] = []
    for turn in range(turns):
        seq = first_seq + 2 * turn
        path = f"src/module_{turn}.py"
        messages.append(assistant(seq, f"Reading {path}.", **{f"r{seq}": ("Read", {"file_path": path})}))
        messages.append(result(seq + 1, f"r{seq}", "x = 1\n" * (output_characters // 6)))
    return messages
