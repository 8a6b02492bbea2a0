"""Memory from folded messages: newer words supersede, and what was extracted stays within its share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from budgets.core.window import compaction_memory
from kernel.clock import read_now
from kernel.ids import new_id
from sessions.core.memory import MemoryCandidate
from sessions.models import AgentSession, MemoryEntry
from sessions.services.frames import Frame
from sessions.services.memory import live_entries, weigh_memory
from sessions.services.store import from_bytes, to_bytes

# Extraction adds at most this many entries per compaction; the strongest first.
MAX_NEW = 50
EXTRACTED = "seq:"


def memory_room(frame: Frame) -> int:
    """The share of the target that persistent memory may take after a compaction."""
    return compaction_memory(frame.policy.compaction, frame.context_window)


def remember(
    session: AgentSession, frame: Frame, candidates: Sequence[MemoryCandidate], *, room_tokens: int
) -> None:
    """Under the session's lock; the caller saves the session row."""
    strongest = sorted(candidates, key=lambda c: (-c.priority, -c.source_seq))[:MAX_NEW]
    now = read_now()
    _supersede(session, frame, strongest, now)
    _keep_within(session, frame, room_tokens, now)
    weigh_memory(session, frame)


def _supersede(
    session: AgentSession, frame: Frame, candidates: Sequence[MemoryCandidate], now: datetime
) -> None:
    """The same key with other words is a change; a pinned entry and the same words stay as they are."""
    keys = [candidate.key for candidate in candidates]
    known = {row.key: row for row in live_entries(session).filter(key__in=keys).order_by("pinned", "id")}
    changed = [
        candidate
        for candidate in candidates
        if (row := known.get(candidate.key)) is None
        or (not row.pinned and from_bytes(row.body) != candidate.text)
    ]
    outdated = [candidate.key for candidate in changed if candidate.key in known]
    live_entries(session).filter(key__in=outdated, pinned=False).update(superseded_at=now)
    MemoryEntry.objects.bulk_create(_entry(session, frame, candidate, now) for candidate in changed)


def _entry(session: AgentSession, frame: Frame, candidate: MemoryCandidate, now: datetime) -> MemoryEntry:
    return MemoryEntry(
        id=new_id("mem"),
        session=session,
        kind=candidate.kind,
        body=to_bytes(candidate.text),
        counts={frame.counter.name: frame.counter.count(candidate.text)},
        priority=candidate.priority,
        source=f"{EXTRACTED}{candidate.source_seq}",
        key=candidate.key,
        seq=candidate.source_seq,
        created_at=now,
        updated_at=now,
    )


def _keep_within(session: AgentSession, frame: Frame, room_tokens: int, now: datetime) -> None:
    """In fill order; only what was extracted gives way: what people and agents wrote is theirs to remove."""
    name, left = frame.counter.name, room_tokens
    dropped: list[str] = []
    for row in live_entries(session).order_by("-pinned", "-priority", "-seq", "-id"):
        left -= row.counts.get(name) or frame.counter.count(from_bytes(row.body))
        if left < 0 and not row.pinned and row.source.startswith(EXTRACTED):
            dropped.append(row.pk)
    MemoryEntry.objects.filter(pk__in=dropped).update(superseded_at=now)
