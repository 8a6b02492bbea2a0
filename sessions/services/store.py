"""Reading and appending: sessions by id, messages by sequence number, section texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from kernel.clock import read_now
from kernel.errors import Invalid, NotFound
from kernel.fields import canonical_json
from kernel.rows import fetch_row, insert_rows, update_row
from sessions.core.groups import group_of
from sessions.core.message import StoredMessage, call_ids_of, result_id_of
from sessions.errors import SessionErased
from sessions.models import AgentSession, Message, SectionContent
from sessions.services.frames import Frame

EXTERNAL = "ext:"
# Rows read per round while walking back from the newest message.
TAIL_CHUNK = 128
# No group of calls and results is longer.
MAX_GROUP = 256
# More pinned messages than this cannot be meant; the others are still found by search.
MAX_PINNED = 200
# How far around a pinned call or result the rest of its group is looked for.
GROUP_REACH = 32


def find_session(*, project_id: str, ref: str) -> AgentSession:
    return _one(project_id, ref, lock=False)


def lock_session(*, project_id: str, ref: str) -> AgentSession:
    """The session for writing: nobody else changes it until this transaction ends."""
    session = _one(project_id, ref, lock=True)
    if session.state == AgentSession.State.ERASED:
        raise SessionErased("The content of this session was erased; it takes no more events.")
    return session


@contextmanager
def changing_session(*, project_id: str, ref: str) -> Iterator[AgentSession]:
    """The session under its lock; what the block changed of its row is written when it ends."""
    with transaction.atomic():
        session = lock_session(project_id=project_id, ref=ref)
        yield session
        update_row(session)


def _one(project_id: str, ref: str, *, lock: bool) -> AgentSession:
    column, value = ("external_id", ref.removeprefix(EXTERNAL)) if ref.startswith(EXTERNAL) else ("id", ref)
    if "\x00" in ref:
        raise NotFound()
    known = {column: value, "project_id": project_id}
    session = fetch_row(AgentSession, known, lock=lock, joined="profile")
    if session is None:
        raise NotFound()
    return session


def to_bytes(value: Any) -> bytes:
    return canonical_json(value).encode()


def kept_text(session: AgentSession, text: str) -> str:
    """The words, where the project keeps words; what they weigh is counted before."""
    return text if session.keeps_content else ""


def from_bytes(body: bytes | memoryview) -> Any:
    return json.loads(bytes(body))


def append_messages(
    session: AgentSession, frame: Frame, bodies: Sequence[tuple[dict[str, Any], bool, bool]], *, now: datetime
) -> list[StoredMessage]:
    """Appends (body, is_human, pinned) under the session's lock; moves head, totals and anchors in memory.

    The caller saves the session row: one UPDATE per transaction.
    """
    rows = []
    for body, is_human, pinned in bodies:
        session.head_seq += 1
        rows.append(_message_row(session, frame, body, is_human, pinned, now))
    insert_rows(rows)
    stored = [stored_message(row, frame) for row in rows]
    for message in stored:
        _count_into(session, message)
    return stored


def _message_row(
    session: AgentSession, frame: Frame, body: dict[str, Any], is_human: bool, pinned: bool, now: datetime
) -> Message:
    return Message(
        session=session,
        seq=session.head_seq,
        role=body["role"],
        counts=frame.count_body(body),
        body=to_bytes(body if session.keeps_content else _numbers_only(body)),
        call_ids=list(call_ids_of(body)),
        result_id=result_id_of(body),
        pinned=pinned,
        is_human=is_human,
        created_at=now,
    )


def _numbers_only(body: dict[str, Any]) -> dict[str, Any]:
    """The shape of a message without its words; the hash still tells two messages apart."""
    return {"role": body["role"], "content": None, "sha256": hashlib.sha256(to_bytes(body)).hexdigest()}


def _count_into(session: AgentSession, message: StoredMessage) -> None:
    session.parts[message.role] = session.parts.get(message.role, 0) + message.tokens
    session.counted_since_report += message.tokens
    if message.is_human:
        session.first_user_seq = session.first_user_seq or message.seq
        session.last_user_seq = message.seq


_COLUMNS = ("seq", "role", "counts", "body", "call_ids", "result_id", "pinned", "is_human")


def stored_message(row: Message, frame: Frame) -> StoredMessage:
    return _stored(frame, *(getattr(row, name) for name in _COLUMNS))


def stored_messages(rows: QuerySet[Message], frame: Frame) -> Iterator[StoredMessage]:
    """Without model instances: a context reads hundreds of messages."""
    for values in rows.values_list(*_COLUMNS).iterator(chunk_size=1000):
        yield _stored(frame, *values)


def _stored(
    frame: Frame,
    seq: int,
    role: str,
    counts: dict[str, int],
    body: bytes | memoryview,
    call_ids: list[str],
    result_id: str | None,
    pinned: bool,
    is_human: bool,
) -> StoredMessage:
    message = from_bytes(body)
    tokens = counts.get(frame.counter.name)
    return StoredMessage(
        seq=seq,
        role=role,
        tokens=frame.count_body(message)[frame.counter.name] if tokens is None else tokens,
        words=counts["words"],
        body=message,
        call_ids=tuple(call_ids),
        result_id=result_id,
        pinned=pinned,
        is_human=is_human,
    )


def messages_by_seq(session: AgentSession, frame: Frame, seqs: Iterable[int]) -> dict[int, StoredMessage]:
    rows = Message.objects.filter(session=session, seq__in=set(seqs))
    return {message.seq: message for message in stored_messages(rows, frame)}


def read_tail(
    session: AgentSession, frame: Frame, *, after_seq: int, room_tokens: int
) -> list[StoredMessage]:
    """The newest messages after `after_seq`, ascending: as many as could fit, in whole tool groups."""
    tail: list[StoredMessage] = []
    tokens, beyond = 0, 0
    missing: set[str] = set()
    for message in _newest_first(session, frame, after_seq):
        tail.append(message)
        tokens += message.tokens
        _track_open_results(missing, message)
        if tokens > room_tokens:
            beyond += 1
            # A result whose call was never reported must not make the walk go back to the beginning.
            if not missing or beyond > MAX_GROUP:
                break
    tail.reverse()
    return tail


def _newest_first(session: AgentSession, frame: Frame, after_seq: int) -> Iterator[StoredMessage]:
    before = session.head_seq + 1
    while before > after_seq + 1:
        rows = visible_messages(session).filter(seq__gt=after_seq, seq__lt=before).order_by("-seq")
        chunk = list(stored_messages(rows[:TAIL_CHUNK], frame))
        if not chunk:
            return
        yield from chunk
        before = chunk[-1].seq


def _track_open_results(missing: set[str], message: StoredMessage) -> None:
    """Results whose call lies further back: the walk goes on until their group is whole."""
    if message.result_id is not None:
        missing.add(message.result_id)
    missing.difference_update(message.call_ids)


def read_range(session: AgentSession, frame: Frame, *, first: int, last: int) -> list[StoredMessage]:
    rows = Message.objects.filter(session=session, seq__gte=first, seq__lte=last).order_by("seq")
    return list(stored_messages(rows, frame))


def live_messages(session: AgentSession, frame: Frame) -> list[StoredMessage]:
    """Everything that is neither summarised nor hidden."""
    rows = visible_messages(session).filter(seq__gt=session.base_seq).order_by("seq")
    return list(stored_messages(rows, frame))


def visible_messages(session: AgentSession) -> QuerySet[Message]:
    rows = Message.objects.filter(session=session)
    for first, last in session.hidden:
        rows = rows.exclude(seq__gte=first, seq__lte=last)
    return rows


def pinned_messages(session: AgentSession, frame: Frame) -> list[StoredMessage]:
    """Everything pinned that is in view; a pinned call or result comes with the rest of its group."""
    rows = visible_messages(session).filter(pinned=True).order_by("seq")[:MAX_PINNED]
    found: dict[int, StoredMessage] = {}
    for message in stored_messages(rows, frame):
        is_tool_part = message.call_ids or message.result_id is not None
        group = _group_of(session, frame, message) if is_tool_part else (message,)
        found.update((member.seq, member) for member in group)
    return [found[seq] for seq in sorted(found)]


def _group_of(session: AgentSession, frame: Frame, message: StoredMessage) -> tuple[StoredMessage, ...]:
    first, last = max(1, message.seq - GROUP_REACH), message.seq + GROUP_REACH
    near = read_range(session, frame, first=first, last=last)
    return group_of(near, next(place for place, m in enumerate(near) if m.seq == message.seq))


def section_texts(session: AgentSession) -> dict[str, str]:
    return {
        row.name: from_bytes(row.body)
        for row in SectionContent.objects.filter(session=session).order_by("id")
    }


def section_text(session: AgentSession, name: str) -> str:
    row = SectionContent.objects.filter(session=session, name=name).first()
    return from_bytes(row.body) if row else ""


def require_section(frame: Frame, name: str) -> None:
    if frame.policy.section(name) is None:
        known = ", ".join(section.name for section in frame.policy.sections)
        raise Invalid(f"The profile has no section {name[:80]!r}; it has {known}.", code="unknown_section")


def put_section(session: AgentSession, frame: Frame, *, name: str, text: str) -> None:
    """Replaces a section's text under the session's lock; the caller saves the session row."""
    tokens = frame.counter.count(text)
    before = (
        SectionContent.objects.filter(session=session, name=name).values_list("tokens", flat=True).first()
        or 0
    )
    SectionContent.objects.update_or_create(
        session=session,
        name=name,
        defaults={
            "body": to_bytes(kept_text(session, text)),
            "tokens": tokens,
            "updated_at": read_now(),
        },
    )
    session.parts["sections"] = session.parts.get("sections", 0) + tokens - before
    session.counted_since_report = max(0, session.counted_since_report + tokens - before)
