"""Memory from folded messages: facts, preferences, decisions, errors and files, newest wins."""

from __future__ import annotations

from collections.abc import Sequence

from kernel.clock import read_now
from kernel.ids import new_id
from sessions.core.memory import extract_memory
from sessions.core.message import StoredMessage
from sessions.models import AgentSession, MemoryEntry
from sessions.services.frames import Frame
from sessions.services.store import to_bytes

# Extraction adds at most this many entries per compaction; the strongest first.
MAX_NEW = 50


def extract_into_memory(session: AgentSession, frame: Frame, messages: Sequence[StoredMessage]) -> None:
    """Under the session's lock; an entry with the same key supersedes the older one."""
    candidates = sorted(extract_memory(messages), key=lambda c: (-c.priority, -c.source_seq))[:MAX_NEW]
    keys = {candidate.key for candidate in candidates if candidate.key}
    live = MemoryEntry.objects.filter(session=session, superseded_at=None)
    now = read_now()
    live.filter(key__in=keys, pinned=False).update(superseded_at=now)
    kept = set(live.filter(key__in=keys).values_list("key", flat=True))
    MemoryEntry.objects.bulk_create(
        MemoryEntry(
            id=new_id("mem"),
            session=session,
            kind=candidate.kind,
            body=to_bytes(candidate.text),
            counts={frame.counter.name: frame.counter.count(candidate.text)},
            priority=candidate.priority,
            source=f"seq:{candidate.source_seq}",
            key=candidate.key[:300],
            seq=candidate.source_seq,
            created_at=now,
            updated_at=now,
        )
        for candidate in candidates
        if candidate.key not in kept
    )
    rows = MemoryEntry.objects.filter(session=session, superseded_at=None).values_list("counts", flat=True)
    session.parts["memory"] = sum(counts.get(frame.counter.name, 0) for counts in rows)
