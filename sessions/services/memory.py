"""Memory entries: what is worth keeping beyond the conversation; agents and people may edit them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from kernel.clock import read_now
from kernel.errors import NotFound
from kernel.ids import new_id
from sessions.models import AgentSession, MemoryEntry
from sessions.services.frames import Frame, frame_of
from sessions.services.store import from_bytes, kept_text, lock_session, to_bytes

# No memory section holds more entries than this, whatever its size.
MAX_READ = 500


def memory_in_fill_order(session: AgentSession, frame: Frame) -> list[MemoryEntry]:
    """Pinned first, then by priority, then the newest."""
    return list(live_entries(session).order_by("-pinned", "-priority", "-seq", "-id")[:MAX_READ])


def live_entries(session: AgentSession) -> QuerySet[MemoryEntry]:
    """In the order of creation."""
    return MemoryEntry.objects.filter(session=session, superseded_at=None).order_by("seq", "id")


@transaction.atomic
def add_entry(
    *, project_id: str, ref: str, kind: str, text: str, priority: int, pinned: bool, source: str, key: str
) -> MemoryEntry:
    """An entry with the same key supersedes the older one."""
    session = lock_session(project_id=project_id, ref=ref)
    frame = frame_of(session)
    now = read_now()
    if key:
        MemoryEntry.objects.filter(session=session, key=key, superseded_at=None).update(superseded_at=now)
    entry = MemoryEntry.objects.create(
        id=new_id("mem"),
        session=session,
        kind=kind,
        body=to_bytes(kept_text(session, text)),
        counts={frame.counter.name: frame.counter.count(text)},
        priority=priority,
        pinned=pinned,
        source=source,
        key=key,
        seq=session.head_seq,
        created_at=now,
        updated_at=now,
    )
    _reweigh(session, frame)
    return entry


@transaction.atomic
def change_entry(*, project_id: str, ref: str, entry_id: str, changes: dict[str, Any]) -> MemoryEntry:
    session = lock_session(project_id=project_id, ref=ref)
    frame = frame_of(session)
    entry = find_entry(session, entry_id)
    if "text" in changes:
        text = changes.pop("text")
        entry.body = to_bytes(kept_text(session, text))
        entry.counts = {frame.counter.name: frame.counter.count(text)}
    for name, value in changes.items():
        setattr(entry, name, value)
    entry.updated_at = read_now()
    entry.save()
    _reweigh(session, frame)
    return entry


@transaction.atomic
def remove_entry(*, project_id: str, ref: str, entry_id: str) -> None:
    """Leaves the live view; checkpoints written before still know it."""
    session = lock_session(project_id=project_id, ref=ref)
    entry = find_entry(session, entry_id)
    entry.superseded_at = read_now()
    entry.save(update_fields=["superseded_at"])
    _reweigh(session, frame_of(session))


def find_entry(session: AgentSession, entry_id: str) -> MemoryEntry:
    entry = MemoryEntry.objects.filter(session=session, pk=entry_id, superseded_at=None).first()
    if entry is None:
        raise NotFound()
    return entry


def entry_json(entry: MemoryEntry) -> dict[str, Any]:
    return {
        "id": entry.pk,
        "kind": entry.kind,
        "text": from_bytes(entry.body),
        "priority": entry.priority,
        "pinned": entry.pinned,
        "source": entry.source,
        "key": entry.key or None,
        "updated_at": entry.updated_at.isoformat().replace("+00:00", "Z"),
    }


def weigh_memory(session: AgentSession, frame: Frame) -> None:
    """Under the session's lock; the caller saves the session row."""
    rows = live_entries(session).values_list("counts", flat=True)
    session.parts["memory"] = sum(counts.get(frame.counter.name, 0) for counts in rows)


def _reweigh(session: AgentSession, frame: Frame) -> None:
    weigh_memory(session, frame)
    session.save(update_fields=["parts"])
