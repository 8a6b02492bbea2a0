"""Decides whether a compaction starts: by our workers, or by telling an agent that compacts itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from budgets.core.messages import compact_intervention
from budgets.core.payback import Payback, payback
from kernel.jobs import queue as jobs
from kernel.models import Job
from sessions.core.compaction import Attempt, should_start
from sessions.models import AgentSession
from sessions.services import interventions
from sessions.services.frames import Frame

COMPACT_JOB = "compact_session"
BY_HAND = "by hand"
DUE = "due"


def request_due_compaction(session: AgentSession, frame: Frame, *, actions: Collection[str]) -> Job | None:
    """Starts what is due. Messages that are neither sent nor summarised make it due whatever the ratio."""
    if "compact" not in actions and not session.dropped_unsummarised:
        return None
    if frame.policy.compaction.mode == "agent":
        _tell_agent(session, frame)
        return None
    if not session.keeps_content or not _may_start(session, frame) or not _pays_back(session, frame):
        return None
    job, _ = enqueue_compaction(session, reason=DUE)
    return job


def enqueue_compaction(session: AgentSession, *, reason: str) -> tuple[Job, bool]:
    """One open compaction per session: asking again while it runs returns the running one."""
    return jobs.enqueue(
        kind=COMPACT_JOB,
        dedupe_key=f"{COMPACT_JOB}:{session.pk}",
        project_id=session.project_id,
        subject_id=session.pk,
        payload={"session": session.pk, "reason": reason},
    )


def last_attempt(session: AgentSession) -> Attempt | None:
    document: dict[str, Any] | None = session.last_compaction
    return Attempt(**document) if document else None


def tail_room(frame: Frame) -> int:
    """The tokens that the section holding the newest messages may take at most."""
    sections = frame.allocation().sections
    tails = [
        s.name for s in frame.policy.sections if s.fill in ("sticky_tail", "newest_first", "head_middle_tail")
    ]
    return max((sections[name] for name in tails), default=frame.total)


def _may_start(session: AgentSession, frame: Frame) -> bool:
    return should_start(
        live_tokens=session.counted_tokens,
        target_tokens=frame.target_tokens,
        tail_room_tokens=tail_room(frame),
        minimum_progress_bp=frame.policy.compaction.minimum_progress_bp,
        last=last_attempt(session),
    )


def expected_payback(session: AgentSession, frame: Frame) -> Payback | None:
    """Judged by the target: a compaction folds at least down to it."""
    return payback(
        frame.model.price,
        before_tokens=session.used_tokens,
        after_tokens=min(frame.target_tokens, session.used_tokens),
    )


def _pays_back(session: AgentSession, frame: Frame) -> bool:
    """A profile may ask for money's worth; what is critical, or would be lost from view, is folded anyway."""
    limit = frame.policy.compaction.max_payback_turns
    if limit is None or session.level == "critical" or session.dropped_unsummarised:
        return True
    found = expected_payback(session, frame)
    return found is None or (found.turns is not None and found.turns <= limit)


def _tell_agent(session: AgentSession, frame: Frame) -> None:
    text = compact_intervention(
        frame.policy.interventions,
        task=session.task or None,
        state=session.cfa_state or None,
        scratch_path=session.scratch_path or None,
    )
    interventions.queue(session_id=session.pk, kind="compact", text=text)
