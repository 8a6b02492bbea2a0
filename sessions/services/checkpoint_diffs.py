"""What changed between two checkpoints of a session."""

from __future__ import annotations

from itertools import islice
from typing import Any

from sessions.core.message import body_text
from sessions.core.verification import is_worth_showing, required_from, verify
from sessions.models import AgentSession, Checkpoint
from sessions.services.checkpoints import checkpoint_content
from sessions.services.frames import frame_of
from sessions.services.store import read_range

MAX_LOST = 100


def diff_checkpoints(session: AgentSession, before: Checkpoint, after: Checkpoint) -> dict[str, Any]:
    """What a summary lost stands first: it is what a person looks for."""
    old, new = checkpoint_content(before), checkpoint_content(after)
    return {
        "from": before.pk,
        "to": after.pk,
        "lost_in_summary": _lost(session, before, after, new),
        "messages": {
            "added": _range(before.head_seq + 1, after.head_seq),
            "summarised": _range(before.base_seq + 1, after.base_seq),
            "kept": _range(after.base_seq + 1, min(before.head_seq, after.head_seq)),
            "hidden": [pair for pair in new["hidden"] if pair not in old["hidden"]],
        },
        "sections": _changes(old["sections"], new["sections"]),
        "memory": _changes(
            {entry["id"]: entry["text"] for entry in old["memory"]},
            {entry["id"]: entry["text"] for entry in new["memory"]},
        ),
        "tokens": _token_delta(old["parts"], new["parts"]),
    }


def _lost(
    session: AgentSession, before: Checkpoint, after: Checkpoint, new: dict[str, Any]
) -> list[dict[str, str]]:
    if after.base_seq <= before.base_seq:
        return []
    folded = read_range(session, frame_of(session), first=before.base_seq + 1, last=after.base_seq)
    required = required_from(body_text(message.body) for message in folded)
    missing = filter(is_worth_showing, verify("\n".join(new["summaries"]), required))
    return [{"kind": item.kind, "text": item.text} for item in islice(missing, MAX_LOST)]


def _range(first: int, last: int) -> dict[str, int] | None:
    return {"from_seq": first, "to_seq": last, "count": last - first + 1} if last >= first else None


def _changes(old: dict[str, str], new: dict[str, str]) -> dict[str, list[str]]:
    return {
        "added": sorted(new.keys() - old.keys()),
        "removed": sorted(old.keys() - new.keys()),
        "changed": sorted(name for name in old.keys() & new.keys() if old[name] != new[name]),
    }


def _token_delta(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    return {name: new.get(name, 0) - old.get(name, 0) for name in sorted(old.keys() | new.keys())}
