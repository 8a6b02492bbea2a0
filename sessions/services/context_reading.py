"""Reads what a context is made of: only what can fit, whatever the session's length."""

from __future__ import annotations

from collections.abc import Sequence

from budgets.core.basis_points import share_of
from sessions.core.frame import ONE_OFF_HISTORY_BP
from sessions.core.message import MemoryItem, StoredMessage, SummaryItem
from sessions.core.request import Anchors
from sessions.core.summary import summarise
from sessions.models import AgentSession
from sessions.services import protocols
from sessions.services.compaction_requests import tail_room
from sessions.services.frames import Frame
from sessions.services.manifests import summaries_of
from sessions.services.memory import memory_in_fill_order
from sessions.services.store import (
    from_bytes,
    messages_by_seq,
    pinned_messages,
    read_range,
    read_tail,
)

# A one-off context without a query summarises what it leaves out, at most this much of it.
ONE_OFF_READ_TOKENS = 60_000
# Times the room of their section, search hits are read.
HITS_PER_ROOM = 3
# Headings, frames of messages and the reply.
HEADING_TOKENS = 48


def first_recent_seq(frame: Frame, tail: Sequence[StoredMessage], *, one_off: bool) -> int:
    """About where the messages begin that are sent word for word; what lies before may be searched."""
    room = tail_room(frame)
    if one_off:
        room = share_of(room, ONE_OFF_HISTORY_BP)
    first = tail[-1].seq + 1 if tail else 0
    for message in reversed(tail):
        room -= message.tokens
        if room < 0:
            break
        first = message.seq
    return first


def hit_room(frame: Frame, *, one_off: bool) -> int:
    """Tokens of search hits worth reading: more than can be shown, since a smaller one may fill a gap."""
    sections = [section for section in frame.policy.sections if section.fill == "retrieve"]
    if one_off or any(section.borrows for section in sections):
        return frame.total
    planned = frame.allocation().sections
    return min(frame.total, HITS_PER_ROOM * sum(planned[section.name] for section in sections))


def memory_items(session: AgentSession, frame: Frame) -> list[MemoryItem]:
    name = frame.counter.name
    return [
        MemoryItem(
            id=row.pk,
            kind=row.kind,
            text=from_bytes(row.body),
            tokens=row.counts.get(name) or frame.counter.count(from_bytes(row.body)),
            pinned=row.pinned,
            priority=row.priority,
            seq=row.seq,
        )
        for row in memory_in_fill_order(session, frame)
    ]


def summary_items(
    session: AgentSession, frame: Frame, *, one_off: bool, recent_from: int
) -> list[SummaryItem]:
    """What stands for the folded messages; in a one-off context, where asked, for the left-out ones, too."""
    name = frame.counter.name
    found = [
        SummaryItem(
            from_seq=row.from_seq,
            to_seq=row.to_seq,
            text=from_bytes(row.body),
            tokens=row.counts.get(name) or frame.counter.count(from_bytes(row.body)),
        )
        for row in summaries_of(session)
    ]
    left_out = _left_out(session, frame, before_seq=recent_from) if one_off else []
    if left_out:
        found.append(_summary_of(left_out, frame, room=_one_off_summary_room(session, frame)))
    return found


def _summary_of(messages: Sequence[StoredMessage], frame: Frame, *, room: int) -> SummaryItem:
    text = summarise(messages, None, room, frame.counter.count)
    tokens = frame.counter.count(text)
    return SummaryItem(from_seq=messages[0].seq, to_seq=messages[-1].seq, text=text, tokens=tokens)


def _one_off_summary_room(session: AgentSession, frame: Frame) -> int:
    """What the texts that are sent anyway and a few of the newest messages leave."""
    fixed: int = sum(session.parts.get(part, 0) for part in ("sections", "protocols", "memory", "summary"))
    recent = share_of(tail_room(frame), ONE_OFF_HISTORY_BP)
    return max(0, frame.total - fixed - recent - HEADING_TOKENS)


def protocol_section(session: AgentSession, frame: Frame) -> dict[str, str]:
    """Loaded protocols, where the profile has a section for them."""
    if not session.protocols or frame.policy.section("protocols") is None:
        return {}
    return {"protocols": "\n\n".join(protocols.loaded_texts(session).values())}


def anchors_of_session(session: AgentSession, frame: Frame, tail: Sequence[StoredMessage]) -> Anchors:
    """The messages that are always sent; only those that the tail does not hold are read."""
    held = {message.seq: message for message in tail}
    wanted = {seq for seq in (session.first_user_seq, session.last_user_seq) if seq}
    held.update(messages_by_seq(session, frame, wanted - held.keys()) if wanted - held.keys() else {})
    return Anchors(
        first_user=held.get(session.first_user_seq),
        latest_user=held.get(session.last_user_seq),
        pinned=tuple(held.get(pin.seq, pin) for pin in pinned_messages(session, frame)),
    )


def story_parts(
    session: AgentSession, frame: Frame, tail: Sequence[StoredMessage]
) -> tuple[list[StoredMessage], list[StoredMessage]]:
    """The beginning of a story and a bounded part of its middle, where the profile keeps them."""
    story = next((s for s in frame.policy.sections if s.fill == "head_middle_tail"), None)
    first_of_tail = tail[0].seq if tail else session.head_seq + 1
    if story is None or first_of_tail <= session.base_seq + 1:
        return [], []
    cap = int(story.options.get("cap_start", 20))
    head_end = min(session.base_seq + 2 * cap, first_of_tail - 1)
    head = read_range(session, frame, first=session.base_seq + 1, last=head_end)
    middle_first = max(head_end + 1, first_of_tail - 200)
    return head, read_range(session, frame, first=middle_first, last=first_of_tail - 1)


def _left_out(session: AgentSession, frame: Frame, *, before_seq: int) -> list[StoredMessage]:
    read = read_tail(session, frame, after_seq=session.base_seq, room_tokens=ONE_OFF_READ_TOKENS)
    return [message for message in read if message.seq < before_seq]
