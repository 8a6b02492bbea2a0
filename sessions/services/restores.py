"""Restoring a checkpoint: a new epoch that shows what it showed; undoable, nothing is deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from kernel.clock import read_now
from kernel.errors import Invalid
from kernel.ids import new_id
from sessions.models import AgentSession, Checkpoint, MemoryEntry, SectionContent
from sessions.services.budget_view import budget_summary
from sessions.services.checkpoints import checkpoint_content, find_checkpoint, write_checkpoint
from sessions.services.frames import Frame, frame_of
from sessions.services.lifecycle import recount
from sessions.services.manifests import level_of, swap_manifest
from sessions.services.memory import live_entries
from sessions.services.signals import add_signal
from sessions.services.store import find_session, lock_session, to_bytes

SECTIONS, MEMORY = "sections", "memory"
# What a session takes over from a checkpoint as it is.
SHOWN_FIELDS = (
    "cut_seq",
    "first_user_seq",
    "last_user_seq",
    "last_prefix",
    "parts",
    "protocols",
    "task",
    "cfa_state",
    "dropped_unsummarised",
)


def preview_restore(*, project_id: str, ref: str, checkpoint_ref: str) -> dict[str, Any]:
    """Whether what the checkpoint shows would fit the session's present budget, and what it would hide."""
    session = find_session(project_id=project_id, ref=ref)
    frame = frame_of(session)
    checkpoint = find_checkpoint(session, checkpoint_ref)
    tokens = sum(checkpoint_content(checkpoint)["parts"].values())
    return {
        "tokens": tokens,
        "total": frame.total,
        "fits": tokens <= frame.total,
        "model": session.model,
        "hides": _after(session, checkpoint),
    }


@transaction.atomic
def restore_head(*, project_id: str, ref: str, checkpoint_ref: str) -> tuple[AgentSession, Frame, Checkpoint]:
    """The session continues from the checkpoint; what came after it is hidden, and can be brought back.

    Returns the checkpoint that undoes this, too.
    """
    session = lock_session(project_id=project_id, ref=ref)
    frame = frame_of(session)
    checkpoint = find_checkpoint(session, checkpoint_ref)
    undo = write_checkpoint(session, frame, reason="before restore")
    content = checkpoint_content(checkpoint)
    items = list(checkpoint.manifest.items) if checkpoint.manifest else []
    show(session, checkpoint, content, items=items, hidden=[*content["hidden"], *_after(session, checkpoint)])
    restore_texts(session, frame, content, {SECTIONS, MEMORY})
    if content["tokenizer"] != frame.counter.name:
        recount(session, frame)
    if session.state == AgentSession.State.EXHAUSTED:
        session.state, session.pause_reason = AgentSession.State.ACTIVE, ""
    session.level = level_of(session, frame)
    add_signal(session, "CONTEXT_CLEARED", {"restored": checkpoint.pk, "undo": undo.pk})
    session.save()
    return session, frame, undo


def _after(session: AgentSession, checkpoint: Checkpoint) -> list[list[int]]:
    """What was appended since the checkpoint, as a range or nothing."""
    return [[checkpoint.head_seq + 1, session.head_seq]] if session.head_seq > checkpoint.head_seq else []


@transaction.atomic
def restore_items(
    *, project_id: str, ref: str, checkpoint_ref: str, items: set[str]
) -> tuple[AgentSession, Frame, Checkpoint]:
    """Only the chosen texts (sections, memory, or single section names) come back; the conversation stays."""
    session = lock_session(project_id=project_id, ref=ref)
    frame = frame_of(session)
    content = checkpoint_content(find_checkpoint(session, checkpoint_ref))
    known = {SECTIONS, MEMORY, *content["sections"]}
    if not items or items - known:
        raise Invalid(f"items must be some of {', '.join(sorted(known))}.", code="unknown_item")
    undo = write_checkpoint(session, frame, reason="before restore")
    restore_texts(session, frame, content, items)
    recount(session, frame)
    session.level = level_of(session, frame)
    session.save()
    return session, frame, undo


def show(
    session: AgentSession,
    checkpoint: Checkpoint,
    content: dict[str, Any],
    *,
    items: list[dict[str, Any]],
    hidden: list[list[int]],
) -> None:
    """A new manifest with the checkpoint's view; the breaker of compactions starts afresh with it."""
    kept = [item for item in items if item["kind"] != "hidden"]
    kept += [{"kind": "hidden", "from_seq": first, "to_seq": last} for first, last in hidden]
    swap_manifest(session, items=kept, base_seq=checkpoint.base_seq, reason="restore")
    session.hidden, session.position, session.last_compaction = hidden, checkpoint.position, None
    for name in SHOWN_FIELDS:
        setattr(session, name, content[name])


def restore_texts(session: AgentSession, frame: Frame, content: dict[str, Any], items: set[str]) -> None:
    now = read_now()
    wanted = {name: text for name, text in content["sections"].items() if SECTIONS in items or name in items}
    if SECTIONS in items:
        SectionContent.objects.filter(session=session).exclude(name__in=wanted).delete()
    for name, text in wanted.items():
        SectionContent.objects.update_or_create(
            session=session,
            name=name,
            defaults={"body": to_bytes(text), "tokens": frame.counter.count(text), "updated_at": now},
        )
    if MEMORY in items:
        _restore_memory(session, frame, content["memory"], now)


def _restore_memory(
    session: AgentSession, frame: Frame, entries: list[dict[str, Any]], now: datetime
) -> None:
    """Entries keep their identity within a session; in a fork they are written anew, in the same order."""
    known = MemoryEntry.objects.filter(session=session, pk__in=[entry["id"] for entry in entries])
    rows = {row.pk: row for row in known}
    live_entries(session).exclude(pk__in=rows).update(superseded_at=now)
    fresh_ids = iter(sorted(new_id("mem") for _ in entries))
    for entry, fresh_id in zip(entries, fresh_ids, strict=True):
        row = rows.get(entry["id"]) or MemoryEntry(id=fresh_id, session=session, created_at=now)
        for name in ("kind", "priority", "pinned", "source", "key", "seq"):
            setattr(row, name, entry[name])
        row.body, row.superseded_at, row.updated_at = to_bytes(entry["text"]), None, now
        row.counts = {frame.counter.name: frame.counter.count(entry["text"])}
        row.save()


def restore_json(session: AgentSession, frame: Frame, undo: Checkpoint | None) -> dict[str, Any]:
    return {
        "session": session.pk,
        "epoch": session.epoch,
        "head_seq": session.head_seq,
        "undo": undo.pk if undo else None,
        "budget": budget_summary(session, frame),
    }
