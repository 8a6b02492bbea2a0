"""The pointer swap: a new manifest under the next epoch, and what the live view then weighs."""

from __future__ import annotations

import hashlib
from typing import Any

from django.db.models import QuerySet

from budgets.core.pressure import clear, dump_state, level, load_state
from kernel.clock import read_now
from kernel.faults import fault
from kernel.fields import canonical_json
from kernel.ids import new_id
from sessions.models import AgentSession, Manifest, Message, Summary
from sessions.services.frames import Frame
from sessions.services.store import kept_text, to_bytes, visible_messages


def fold_into_summary(
    session: AgentSession,
    frame: Frame,
    *,
    to_seq: int,
    text: str,
    source: str,
    job_id: str,
    checks: dict[str, Any] | None = None,
) -> Summary:
    """Commits a summary of everything up to `to_seq` under the session's lock; the caller saves the row.

    Older summaries were folded into the text, so the manifest holds this one alone. Originals stay.
    """
    before = session.counted_tokens
    summary = Summary(
        id=new_id("sum"),
        session=session,
        from_seq=1,
        to_seq=to_seq,
        body=to_bytes(kept_text(session, text)),
        counts={frame.counter.name: frame.counter.count(text)},
        source=source,
        checks=checks or {},
        before_tokens=before,
        after_tokens=0,
        job_id=job_id,
        created_at=read_now(),
    )
    fault("compact.commit.summary")
    swap_manifest(
        session,
        items=[summary_item(summary), *hidden_items(session)],
        base_seq=to_seq,
        reason="compaction",
    )
    reweigh(session, frame, summary_tokens=summary.counts[frame.counter.name])
    summary.after_tokens = session.counted_tokens
    summary.save()
    return summary


def swap_manifest(
    session: AgentSession, *, items: list[dict[str, Any]], base_seq: int, reason: str
) -> Manifest:
    """A new epoch begins: the old report no longer counts, flags fall, the sticky cut starts afresh."""
    session.epoch += 1
    manifest = Manifest.objects.create(
        id=new_id("mani"),
        session=session,
        epoch=session.epoch,
        items=items,
        base_seq=base_seq,
        sha256=hashlib.sha256(canonical_json([items, base_seq]).encode()).hexdigest(),
        reason=reason,
        created_at=read_now(),
    )
    fault("compact.commit.manifest")
    session.manifest = manifest
    session.base_seq = base_seq
    session.cut_seq = base_seq
    session.dropped_unsummarised = 0
    session.reported_prompt = None
    session.counted_since_report = 0
    session.last_prefix = []
    state = load_state(session.pressure)
    for flag in state.flags:
        state = clear(state, flag)
    session.pressure = dump_state(state)
    return manifest


def summary_item(summary: Summary) -> dict[str, Any]:
    return {
        "kind": "summary",
        "summary": summary.pk,
        "from_seq": summary.from_seq,
        "to_seq": summary.to_seq,
    }


def hidden_items(session: AgentSession) -> list[dict[str, Any]]:
    return [{"kind": "hidden", "from_seq": first, "to_seq": last} for first, last in session.hidden]


def is_hidden(session: AgentSession, seq: int) -> bool:
    return any(first <= seq <= last for first, last in session.hidden)


def view_bounds(session: AgentSession) -> tuple[int, int]:
    """Base and head as an assembly counts them: what a restore has hidden was never there."""
    base, hidden = session.base_seq, sorted(session.hidden)
    for first, last in hidden:
        if first <= base + 1:
            base = max(base, last)
    inside = sum(last - first + 1 for first, last in hidden if first > base)
    return base, session.head_seq - inside


def message_state(session: AgentSession, message: Message) -> str:
    """Every message is exactly one of these: hidden by a restore, live (word for word), or summarised."""
    if is_hidden(session, message.seq):
        return "hidden"
    return "live" if message.seq > session.base_seq or message.pinned else "summarised"


def reweigh(session: AgentSession, frame: Frame, *, summary_tokens: int) -> None:
    """Counts the live view anew from the stored counts of what is still sent word for word."""
    parts = {
        name: session.parts[name]
        for name in ("base", "sections", "protocols", "memory")
        if name in session.parts
    }
    parts["summary"] = summary_tokens
    for rows in weighed_messages(session):
        for role, counts in rows.values_list("role", "counts").iterator(chunk_size=2000):
            parts[role] = parts.get(role, 0) + counts.get(frame.counter.name, 0)
    session.parts = parts
    session.level = level_of(session, frame)


def level_of(session: AgentSession, frame: Frame) -> str:
    """Without observing anything: flags, signals and what is due stay as they are."""
    return level(session.used_tokens, frame.policy.thresholds, total=frame.total, window=frame.context_window)


def weighed_messages(session: AgentSession) -> tuple[QuerySet[Message], ...]:
    """Every message after the base, and those before it that are always sent; no message twice."""
    visible = visible_messages(session)
    folded = visible.filter(seq__lte=session.base_seq)
    anchors = (session.first_user_seq, session.last_user_seq)
    # Each by an index of its own: one OR would read the whole archive.
    return (
        visible.filter(seq__gt=session.base_seq),
        folded.filter(pinned=True),
        folded.filter(pinned=False, seq__in=anchors),
    )


def summaries_of(session: AgentSession) -> list[Summary]:
    """The summaries of the live view, in order."""
    if session.manifest is None:
        return []
    ids = [item["summary"] for item in session.manifest.items if item["kind"] == "summary"]
    rows = {row.pk: row for row in Summary.objects.filter(pk__in=ids)}
    return [rows[summary_id] for summary_id in ids]
