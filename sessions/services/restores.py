"""Restoring a checkpoint: a new epoch that shows what it showed; undoable, nothing is deleted."""

from __future__ import annotations

from typing import Any

from django.db import connection, transaction

from kernel.clock import read_now
from kernel.ids import new_id
from sessions.models import AgentSession, Checkpoint, Manifest, MemoryEntry, Message, SectionContent
from sessions.services.budget_view import budget_summary
from sessions.services.checkpoints import checkpoint_content, find_checkpoint, write_checkpoint
from sessions.services.frames import Frame, frame_of
from sessions.services.lifecycle import recount
from sessions.services.manifests import swap_manifest
from sessions.services.signals import add_signal
from sessions.services.store import find_session, lock_session, to_bytes


def preview_restore(*, project_id: str, ref: str, checkpoint_ref: str) -> dict[str, Any]:
    """Whether what the checkpoint shows would fit the session's present budget."""
    session = find_session(project_id=project_id, ref=ref)
    frame = frame_of(session)
    content = checkpoint_content(find_checkpoint(session, checkpoint_ref))
    tokens = sum(content["parts"].values())
    return {"tokens": tokens, "total": frame.total, "fits": tokens <= frame.total, "model": session.model}


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
    hidden = [list(pair) for pair in content["hidden"]]
    if session.head_seq > checkpoint.head_seq:
        hidden.append([checkpoint.head_seq + 1, session.head_seq])
    _show(session, checkpoint, content, hidden)
    restore_texts(session, frame, content, {"sections", "memory"})
    if session.tokenizer != frame.counter.name or content["model"] != session.model:
        recount(session, frame)
    add_signal(session, "CONTEXT_CLEARED", {"restored": checkpoint.pk, "undo": undo.pk})
    session.save()
    return session, frame, undo


@transaction.atomic
def restore_items(
    *, project_id: str, ref: str, checkpoint_ref: str, items: set[str]
) -> tuple[AgentSession, Frame, Checkpoint]:
    """Only the chosen texts (sections, memory, or single section names) come back; the conversation stays."""
    session = lock_session(project_id=project_id, ref=ref)
    frame = frame_of(session)
    checkpoint = find_checkpoint(session, checkpoint_ref)
    undo = write_checkpoint(session, frame, reason="before restore")
    restore_texts(session, frame, checkpoint_content(checkpoint), items)
    recount(session, frame)
    session.save()
    return session, frame, undo


@transaction.atomic
def fork(
    *, project_id: str, ref: str, checkpoint_ref: str, external_id: str | None
) -> tuple[AgentSession, Frame]:
    """A new session that begins where the checkpoint stood; the old one goes on untouched."""
    source = lock_session(project_id=project_id, ref=ref)
    checkpoint = find_checkpoint(source, checkpoint_ref)
    content = checkpoint_content(checkpoint)
    session = AgentSession.objects.get(pk=source.pk)
    now = read_now()
    session.pk = new_id("sess")
    session.external_id, session.parent = external_id, None
    session.turns = session.input_tokens = session.output_tokens = session.spent_nano = 0
    session.cache_read_tokens = session.cache_write_tokens = session.signal_seq = session.assemblies_made = 0
    session.state, session.pause_reason, session.paused_by_cap = AgentSession.State.ACTIVE, "", ""
    session.created_at = session.last_activity_at = now
    session.epoch, session.manifest, session.head_seq = 0, None, checkpoint.head_seq
    session.metadata = {
        **session.metadata,
        "forked_from": {"session": source.pk, "checkpoint": checkpoint.pk},
    }
    session.save(force_insert=True)
    _copy_messages(source.pk, session.pk, checkpoint.head_seq)
    _show(session, checkpoint, content, [list(pair) for pair in content["hidden"]])
    frame = frame_of(session)
    restore_texts(session, frame, content, {"sections", "memory"})
    recount(session, frame)
    session.save()
    return session, frame


def _show(
    session: AgentSession, checkpoint: Checkpoint, content: dict[str, Any], hidden: list[list[int]]
) -> None:
    items = [item for item in _items_of(checkpoint.manifest) if item["kind"] != "hidden"]
    items += [{"kind": "hidden", "from_seq": first, "to_seq": last} for first, last in hidden]
    swap_manifest(session, items=items, base_seq=checkpoint.base_seq, reason="restore")
    session.hidden = hidden
    session.position = checkpoint.position
    for name in (
        "cut_seq",
        "first_user_seq",
        "last_user_seq",
        "last_prefix",
        "parts",
        "protocols",
        "task",
        "cfa_state",
    ):
        setattr(session, name, content[name])
    session.dropped_unsummarised = content["dropped_unsummarised"]


def _items_of(manifest: Manifest | None) -> list[dict[str, Any]]:
    return list(manifest.items) if manifest else []


def restore_texts(session: AgentSession, frame: Frame, content: dict[str, Any], items: set[str]) -> None:
    now = read_now()
    wanted = {
        name: text for name, text in content["sections"].items() if "sections" in items or name in items
    }
    if "sections" in items:
        SectionContent.objects.filter(session=session).exclude(name__in=wanted).delete()
    for name, text in wanted.items():
        SectionContent.objects.update_or_create(
            session=session,
            name=name,
            defaults={"body": to_bytes(text), "tokens": frame.counter.count(text), "updated_at": now},
        )
    if "memory" in items:
        _restore_memory(session, frame, content["memory"])


def _restore_memory(session: AgentSession, frame: Frame, entries: list[dict[str, Any]]) -> None:
    """Entries keep their identity within a session; in a fork, or after an erase, they are written anew."""
    now = read_now()
    rows = {row.pk: row for row in MemoryEntry.objects.filter(session=session)}
    kept = {entry["id"] for entry in entries}
    MemoryEntry.objects.filter(session=session, superseded_at=None).exclude(pk__in=kept).update(
        superseded_at=now
    )
    for order, entry in enumerate(reversed(entries)):
        row = rows.get(entry["id"]) or MemoryEntry(
            id=new_id("mem"), session=session, source="checkpoint", seq=order, created_at=now
        )
        row.kind, row.priority, row.pinned = entry["kind"], entry["priority"], entry["pinned"]
        row.body, row.superseded_at, row.updated_at = to_bytes(entry["text"]), None, now
        row.counts = {frame.counter.name: frame.counter.count(entry["text"])}
        row.save()


def _copy_messages(source_id: str, target_id: str, last_seq: int) -> None:
    """One statement, however long the session is."""
    columns = ", ".join(
        field.column for field in Message._meta.concrete_fields if field.column not in ("id", "session_id")
    )
    table = Message._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (session_id, {columns}) SELECT %s, {columns} FROM {table}"
            " WHERE session_id = %s AND seq <= %s",
            [target_id, source_id, last_seq],
        )


def restore_json(session: AgentSession, frame: Frame, undo: Checkpoint | None) -> dict[str, Any]:
    return {
        "session": session.pk,
        "epoch": session.epoch,
        "head_seq": session.head_seq,
        "undo": undo.pk if undo else None,
        "budget": budget_summary(session, frame),
    }
