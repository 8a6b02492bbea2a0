"""Forks: a new session that begins where a checkpoint stood, with copies of everything it shows."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, connection, transaction

from kernel.clock import read_now
from kernel.errors import Conflict
from kernel.ids import new_id
from sessions.models import AgentSession, Checkpoint, Message, ScratchNote, Summary
from sessions.services.archive import request_indexing
from sessions.services.checkpoints import checkpoint_content, find_checkpoint
from sessions.services.frames import Frame, frame_of
from sessions.services.lifecycle import recount
from sessions.services.manifests import level_of
from sessions.services.restores import MEMORY, SECTIONS, restore_texts, show
from sessions.services.store import lock_session


@transaction.atomic
def fork(
    *, project_id: str, ref: str, checkpoint_ref: str, external_id: str | None
) -> tuple[AgentSession, Frame]:
    """The old session goes on untouched; erasing one of the two leaves the other whole."""
    source = lock_session(project_id=project_id, ref=ref)
    checkpoint = find_checkpoint(source, checkpoint_ref)
    content = checkpoint_content(checkpoint)
    session = _new_session(source, checkpoint, external_id)
    _copy_messages(source, session, checkpoint.head_seq)
    _copy_notes(source, session, checkpoint.head_seq)
    items = _copied_items(checkpoint, session)
    show(session, checkpoint, content, items=items, hidden=list(content["hidden"]))
    frame = frame_of(session)
    restore_texts(session, frame, content, {SECTIONS, MEMORY})
    if content["tokenizer"] != frame.counter.name:
        recount(session, frame)
    session.level = level_of(session, frame)
    request_indexing(session, to_seq=session.base_seq)
    session.save()
    return session, frame


def _new_session(source: AgentSession, checkpoint: Checkpoint, external_id: str | None) -> AgentSession:
    """Who it belongs to and what it works on, without anything that the old one did or spent."""
    now = read_now()
    session = AgentSession(
        id=new_id("sess"),
        project_id=source.project_id,
        key_id=source.key_id,
        external_id=external_id,
        metadata={**source.metadata, "forked_from": {"session": source.pk, "checkpoint": checkpoint.pk}},
        scratch_path=source.scratch_path,
        model=source.model,
        tokenizer=source.tokenizer,
        ratio_bp=source.ratio_bp,
        margin_bp=source.margin_bp,
        profile=source.profile,
        pinned_revision=source.pinned_revision,
        keeps_content=source.keeps_content,
        head_seq=checkpoint.head_seq,
        created_at=now,
        last_activity_at=now,
    )
    try:
        with transaction.atomic():
            session.save(force_insert=True)
    except IntegrityError:
        raise Conflict(
            f"A session with external_id {external_id!r} exists already.", code="external_id_taken"
        ) from None
    return session


def _copied_items(checkpoint: Checkpoint, session: AgentSession) -> list[dict[str, Any]]:
    """The checkpoint's manifest with summaries of the fork's own."""
    items: list[dict[str, Any]] = list(checkpoint.manifest.items) if checkpoint.manifest else []
    wanted = [item["summary"] for item in items if item["kind"] == "summary"]
    fresh: dict[str, str] = {}
    for summary in Summary.objects.filter(pk__in=wanted):
        fresh[summary.pk] = new_id("sum")
        summary.pk, summary.session, summary.job_id = fresh[summary.pk], session, ""
        summary.save(force_insert=True)
    return [{**item, "summary": fresh[item["summary"]]} if "summary" in item else item for item in items]


def _copy_notes(source: AgentSession, session: AgentSession, last_seq: int) -> None:
    notes = list(ScratchNote.objects.filter(session=source, seq__lte=last_seq).order_by("id"))
    for note in notes:
        note.pk, note.session = new_id("note"), session
    ScratchNote.objects.bulk_create(notes)


def _copy_messages(source: AgentSession, target: AgentSession, last_seq: int) -> None:
    """One statement, however long the session is."""
    names = [field.column or field.name for field in Message._meta.concrete_fields]
    columns = ", ".join(name for name in names if name not in ("id", "session_id"))
    table = Message._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (session_id, {columns}) SELECT %s, {columns} FROM {table}"
            " WHERE session_id = %s AND seq <= %s",
            [target.pk, source.pk, last_seq],
        )
