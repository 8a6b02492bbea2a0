"""The values that a context is made of: stored messages, memory entries, summaries and search hits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """One canonical message as the store keeps it; `tokens` includes the overhead of a message."""

    seq: int
    role: str
    tokens: int
    words: int
    body: Body
    call_ids: tuple[str, ...] = ()
    result_id: str | None = None
    pinned: bool = False
    is_human: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    id: str
    kind: str
    text: str
    tokens: int
    pinned: bool = False
    priority: int = 0
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryItem:
    """A committed summary of the messages from_seq..to_seq."""

    from_seq: int
    to_seq: int
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A search result; `ref` says where it came from."""

    ref: str
    text: str
    tokens: int
    score: float = 0


def stored_message(
    *,
    seq: int,
    body: Body,
    count_message: Callable[[Body], int],
    pinned: bool = False,
    is_human: bool | None = None,
) -> StoredMessage:
    """A stored message with everything that can be read from its body."""
    return StoredMessage(
        seq=seq,
        role=str(body.get("role") or ""),
        tokens=count_message(body),
        words=words_of(body),
        body=body,
        call_ids=call_ids_of(body),
        result_id=result_id_of(body),
        pinned=pinned,
        is_human=body.get("role") == "user" if is_human is None else is_human,
    )


def call_ids_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids of the calls that a message makes; a call without an id has the empty one."""
    calls = body.get("tool_calls")
    if body.get("role") != "assistant" or not isinstance(calls, list):
        return ()
    return tuple(str(call.get("id") or "") for call in calls if isinstance(call, dict))


def result_id_of(body: Mapping[str, Any]) -> str | None:
    """The id of the call that a tool message answers, None for every other message."""
    return str(body.get("tool_call_id") or "") if body.get("role") == "tool" else None


def body_text(body: Mapping[str, Any]) -> str:
    """The words of a body: its text parts, one per line."""
    content = body.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(filter(None, map(_part_text, content)))


def words_of(body: Mapping[str, Any]) -> int:
    return len(body_text(body).split())


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""
