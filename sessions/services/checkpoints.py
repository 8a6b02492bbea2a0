"""Checkpoints: everything needed to resume, written immutably; and the clear sequence."""

from __future__ import annotations

import hashlib
from typing import Any

from kernel.clock import read_now
from kernel.errors import Conflict, NotFound
from kernel.fields import canonical_json
from kernel.http.replies import number_or_id
from kernel.ids import new_id
from sessions.core.checkpoint_text import CheckpointPlace, saved_block, signal_line
from sessions.core.memory import extract_memory
from sessions.core.summary import summarise
from sessions.models import AgentSession, Checkpoint
from sessions.services import interventions
from sessions.services.archive import request_indexing
from sessions.services.extraction import memory_room, remember
from sessions.services.frames import Frame, frame_of
from sessions.services.key_masking import without_keys
from sessions.services.manifests import (
    fold_into_summary,
    hidden_items,
    summaries_of,
    summary_item,
    swap_manifest,
)
from sessions.services.memory import live_entries
from sessions.services.signals import add_signal
from sessions.services.store import changing_session, from_bytes, live_messages, section_texts, to_bytes
from sessions.services.triggers import POSITION, place

# A checkpoint's summary belongs to the base load of the next start, which is 2,000 tokens in all.
CLEAR_SUMMARY_TOKENS = 1_000


def write_checkpoint(session: AgentSession, frame: Frame, *, reason: str) -> Checkpoint:
    """Under the session's lock; nothing of it is ever changed afterwards."""
    content = to_bytes(_content(session, frame))
    last = session.checkpoints.order_by("-number").values_list("number", flat=True).first() or 0
    return Checkpoint.objects.create(
        id=new_id("ckpt"),
        session=session,
        number=last + 1,
        manifest=session.manifest,
        epoch=session.epoch,
        head_seq=session.head_seq,
        base_seq=session.base_seq,
        position=session.position,
        content=content,
        reason=reason,
        sha256=_digest(session, content),
        created_at=read_now(),
    )


def save_checkpoint(
    *, project_id: str, ref: str, where: dict[str, Any], reason: str, clear: bool
) -> Checkpoint:
    """Notes where the work stands and writes a checkpoint; `clear` runs the whole clear sequence."""
    with changing_session(project_id=project_id, ref=ref) as session:
        place(session, where)
        if clear:
            return clear_context(session, frame_of(session), reasons=(reason,))
        return write_checkpoint(session, frame_of(session), reason=reason)


def find_checkpoint(session: AgentSession, ref: str) -> Checkpoint:
    """By number or id; one whose hash does not match is refused, not used."""
    row = session.checkpoints.filter(**number_or_id(ref)).first()
    if row is None:
        raise NotFound()
    if row.sha256 != _digest_of(row):
        raise Conflict("This checkpoint's hash does not match its content.", code="checkpoint_damaged")
    return row


def checkpoint_content(row: Checkpoint) -> dict[str, Any]:
    content: dict[str, Any] = from_bytes(row.content)
    return content


def clear_context(session: AgentSession, frame: Frame, *, reasons: tuple[str, ...]) -> Checkpoint:
    """Checkpoint, signal, block, exit: the next context starts from the checkpoint."""
    checkpoint = write_checkpoint(session, frame, reason=reasons[0])
    where = CheckpointPlace(**{key: str(session.position.get(key, "")) for key in POSITION})
    line, block = signal_line(where), saved_block(where)
    add_signal(
        session, "CHECKPOINT_WRITE", {"checkpoint": checkpoint.pk, "line": line, "reasons": list(reasons)}
    )
    text = "\n".join([line, block, frame.policy.interventions.clear])
    interventions.queue(session_id=session.pk, kind="clear", text=text)
    _fold_everything(session, frame)
    session.subagents_done = 0
    add_signal(session, "CONTEXT_CLEARED", {"checkpoint": checkpoint.pk})
    return checkpoint


def _fold_everything(session: AgentSession, frame: Frame) -> None:
    """The next start has the base load, a short summary and nothing of the old turns but their anchors."""
    messages = without_keys(live_messages(session, frame))
    if not messages:
        items = [*map(summary_item, summaries_of(session)), *hidden_items(session)]
        swap_manifest(session, items=items, base_seq=session.base_seq, reason="clear")
        return
    previous = "\n\n".join(from_bytes(row.body) for row in summaries_of(session))
    summary = summarise(messages, previous, CLEAR_SUMMARY_TOKENS, frame.counter.count)
    remember(session, frame, extract_memory(messages), room_tokens=memory_room(frame))
    fold_into_summary(session, frame, to_seq=session.head_seq, text=summary, source="builtin", job_id="")
    request_indexing(session, to_seq=session.base_seq)


def checkpoint_json(row: Checkpoint, *, full: bool = False) -> dict[str, Any]:
    shown = {
        "id": row.pk,
        "number": row.number,
        "reason": row.reason,
        "epoch": row.epoch,
        "head_seq": row.head_seq,
        "base_seq": row.base_seq,
        "position": row.position,
        "sha256": row.sha256,
        "created_at": row.created_at.isoformat().replace("+00:00", "Z"),
    }
    return {**shown, "content": checkpoint_content(row)} if full else shown


def _content(session: AgentSession, frame: Frame) -> dict[str, Any]:
    return {
        "model": session.model,
        "tokenizer": session.tokenizer,
        "revision": frame.revision.pk,
        "task": session.task,
        "cfa_state": session.cfa_state,
        "sections": section_texts(session),
        "memory": [
            {
                "id": row.pk,
                "kind": row.kind,
                "text": from_bytes(row.body),
                "priority": row.priority,
                "pinned": row.pinned,
                "source": row.source,
                "key": row.key,
                "seq": row.seq,
            }
            for row in live_entries(session)
        ],
        "summaries": [from_bytes(row.body) for row in summaries_of(session)],
        "hidden": session.hidden,
        "cut_seq": session.cut_seq,
        "first_user_seq": session.first_user_seq,
        "last_user_seq": session.last_user_seq,
        "last_prefix": session.last_prefix,
        "dropped_unsummarised": session.dropped_unsummarised,
        "parts": session.parts,
        "protocols": session.protocols,
    }


def _digest(session: AgentSession, content: bytes) -> str:
    return _sha256(session.manifest_id, session.head_seq, session.base_seq, session.position, content)


def _digest_of(row: Checkpoint) -> str:
    return _sha256(row.manifest_id, row.head_seq, row.base_seq, row.position, bytes(row.content))


def _sha256(manifest_id: str | None, head_seq: int, base_seq: int, position: Any, content: bytes) -> str:
    head = canonical_json([manifest_id, head_seq, base_seq, position]).encode()
    return hashlib.sha256(head + content).hexdigest()
