"""The notebook of a session: what people said, what changed, what failed, what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from kernel.clock import read_now
from kernel.errors import NotFound
from kernel.ids import new_id
from sessions.core.dead_ends import find_dead_ends
from sessions.core.message import StoredMessage, body_text
from sessions.core.reading import tool_calls
from sessions.core.scratch import (
    DeadEndNote,
    HumanInput,
    Modification,
    Scratch,
    StateChange,
    modified_paths,
)
from sessions.models import AgentSession, Message, ScratchNote
from sessions.services.frames import Frame
from sessions.services.signals import add_signal
from sessions.services.store import changing_session, from_bytes, kept_text, read_range

# Repeated failures lie close together; further back nothing is compared.
LOOK_BACK = 60


def note_stream(session: AgentSession, frame: Frame, messages: Sequence[StoredMessage]) -> None:
    """Mines new messages under the session's lock; the caller saves the session row."""
    if not session.keeps_content:
        return
    wrote = [
        (message.seq, path, call.name)
        for message in messages
        for call in tool_calls(message)
        for path in modified_paths(call)
    ]
    _add(
        session,
        ScratchNote.Kind.ARTIFACT,
        ((f"{seq}:{_digest(p)}", seq, {"path": p, "tool": t}) for seq, p, t in wrote),
    )
    if any(message.role == "tool" for message in messages):
        _watch_dead_ends(session, frame)


def _watch_dead_ends(session: AgentSession, frame: Frame) -> None:
    recent = read_range(session, frame, first=max(1, session.head_seq - LOOK_BACK), last=session.head_seq)
    found = find_dead_ends(recent, repeats=frame.policy.dead_ends.repeats)
    known = set(
        ScratchNote.objects.filter(
            session=session, kind=ScratchNote.Kind.DEAD_END, key__in=[row.key for row in found]
        ).values_list("key", flat=True)
    )
    for row in found:
        if row.key not in known:
            body = {"description": row.description, "evidence": list(row.evidence), "found_by": row.kind}
            _add(session, ScratchNote.Kind.DEAD_END, [(row.key, row.evidence[-1], body)])
            add_signal(session, "DEAD_END", body)


def report_dead_end(*, project_id: str, ref: str, description: str) -> None:
    with changing_session(project_id=project_id, ref=ref) as session:
        add_dead_end(session, description)


def report_state_change(*, project_id: str, ref: str, previous: str, new: str) -> None:
    with changing_session(project_id=project_id, ref=ref) as session:
        add_state_change(session, previous=previous, new=new)


def dismiss_dead_end(*, project_id: str, ref: str, note_id: str) -> None:
    """A finding that was wrong leaves the notebook; it is not found again."""
    with changing_session(project_id=project_id, ref=ref) as session:
        changed = ScratchNote.objects.filter(
            pk=note_id, session=session, kind=ScratchNote.Kind.DEAD_END, dismissed_at=None
        ).update(dismissed_at=read_now())
        if not changed and not ScratchNote.objects.filter(pk=note_id, session=session).exists():
            raise NotFound()


def add_dead_end(session: AgentSession, description: str) -> None:
    """Under the session's lock, as is a state change; the caller saves the session row."""
    kept = kept_text(session, description)
    body = {"description": kept, "evidence": [], "found_by": "reported"}
    _add(session, ScratchNote.Kind.DEAD_END, [(new_id("dead"), session.head_seq, body)])
    add_signal(session, "DEAD_END", body)


def add_state_change(session: AgentSession, *, previous: str, new: str) -> None:
    session.cfa_state = new
    body = {"previous": previous, "new": new}
    _add(session, ScratchNote.Kind.STATE_CHANGE, [(new_id("state"), session.head_seq, body)])


def read_scratch(session: AgentSession, *, texts: int | None = None) -> Scratch:
    """With `texts`, older inputs than that many come without their words: pages show no more of them."""
    notes: dict[str, list[ScratchNote]] = {}
    for note in ScratchNote.objects.filter(session=session, dismissed_at=None).order_by("seq", "id"):
        notes.setdefault(note.kind, []).append(note)
    return Scratch(
        human_inputs=_human_inputs(session, texts),
        state_changes=tuple(
            StateChange(seq=n.seq, **n.body) for n in notes.get(ScratchNote.Kind.STATE_CHANGE, [])
        ),
        dead_ends=tuple(
            DeadEndNote(seqs=tuple(n.body["evidence"]), description=n.body["description"])
            for n in notes.get(ScratchNote.Kind.DEAD_END, [])
        ),
        modifications=tuple(
            Modification(seq=n.seq, **n.body) for n in notes.get(ScratchNote.Kind.ARTIFACT, [])
        ),
    )


def _human_inputs(session: AgentSession, texts: int | None) -> tuple[HumanInput, ...]:
    rows = Message.objects.filter(session=session, is_human=True).order_by("-seq")
    newest = [
        HumanInput(seq=seq, text=text)
        for seq, body in rows.values_list("seq", "body")[:texts]
        if (text := body_text(from_bytes(body))).strip()
    ]
    older = rows.values_list("seq", flat=True)[texts:] if texts is not None else ()
    return tuple(reversed([*newest, *(HumanInput(seq=seq, text="") for seq in older)]))


def _add(session: AgentSession, kind: str, rows: Iterable[tuple[str, int, dict[str, Any]]]) -> None:
    found = list(rows)
    if not found:
        return
    now = read_now()
    ScratchNote.objects.bulk_create(
        [
            ScratchNote(
                id=new_id("note"), session=session, kind=kind, key=key, seq=seq, body=body, created_at=now
            )
            for key, seq, body in found
        ],
        ignore_conflicts=True,
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def dead_ends(session: AgentSession) -> list[ScratchNote]:
    rows = ScratchNote.objects.filter(session=session, kind=ScratchNote.Kind.DEAD_END, dismissed_at=None)
    return list(rows.order_by("seq", "id"))
