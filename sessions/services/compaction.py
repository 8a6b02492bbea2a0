"""Folds old turns away: plan, summarise outside any transaction, verify, commit under the epoch check."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction

from budgets.core import messages
from budgets.core.usage import TokenUsage
from budgets.services.models import resolve_model
from kernel.errors import Conflict
from kernel.faults import fault
from kernel.jobs import queue as jobs
from kernel.jobs.registry import ClaimedJob, DeadJob, JobFailed
from sessions.core.compaction import Attempt, FoldPlan, Refusal
from sessions.core.memory import MemoryCandidate, extract_memory
from sessions.core.message import StoredMessage
from sessions.errors import ContentNotKept
from sessions.models import AgentSession, Summary
from sessions.services.archive import index_up_to
from sessions.services.checkpoints import write_checkpoint
from sessions.services.compaction_plans import Planned, plan_compaction, plan_json, refusal_sentence
from sessions.services.compaction_requests import BY_HAND, COMPACT_JOB, enqueue_compaction, last_attempt
from sessions.services.extraction import memory_room, remember
from sessions.services.frames import Frame, frame_of
from sessions.services.key_masking import without_keys
from sessions.services.manifests import fold_into_summary, summaries_of
from sessions.services.signals import add_signal, emit
from sessions.services.store import find_session, from_bytes, lock_session
from sessions.services.summarising import Draft, draft_summary
from sessions.services.summary_checks import Material, required_of, within_room
from sessions.services.summary_costs import book_summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Everything that the commit needs, worked out before it takes any lock."""

    epoch: int
    plan: FoldPlan
    draft: Draft
    memory: list[MemoryCandidate]
    archived: int


@transaction.atomic
def start_compaction(*, project_id: str, ref: str) -> tuple[str, dict[str, Any]]:
    """By hand: a plan that cannot help is refused instead of queued."""
    session = lock_session(project_id=project_id, ref=ref)
    if not session.keeps_content:
        raise ContentNotKept("This project keeps numbers only: there are no words to summarise.")
    planned = plan_compaction(session)
    if isinstance(planned.plan, Refusal):
        raise Conflict(
            refusal_sentence(planned.plan), code=planned.plan.reason, floor_tokens=planned.plan.floor_tokens
        )
    job, _ = enqueue_compaction(session, reason=BY_HAND)
    return job.pk, plan_json(planned)


def run_compaction(job: ClaimedJob) -> dict[str, Any]:
    """The worker's side. A crash anywhere leaves the session fully before or fully after."""
    session = find_session(project_id=job.project_id, ref=job.subject_id)
    if session.state == AgentSession.State.ERASED:
        raise JobFailed("The session was erased.", final=True)
    planned = plan_compaction(session)
    fault("compact.planned")
    plan, draft = _staged(job, session) or (planned.plan, None)
    if isinstance(plan, Refusal):
        return _record_refusal(job, plan)
    folded = without_keys(message for message in planned.messages if message.seq <= plan.to_seq)
    if draft is None:
        draft = _draft_and_stage(job, planned, plan, folded)
    fold = Fold(
        epoch=session.epoch,
        plan=plan,
        draft=draft,
        memory=extract_memory(folded),
        archived=len(folded) - len(plan.carried),
    )
    index_up_to(session, planned.frame, plan.to_seq)
    fault("compact.commit.before")
    result = _commit(job, fold)
    fault("compact.commit.after")
    return result


def _staged(job: ClaimedJob, session: AgentSession) -> tuple[FoldPlan, Draft] | None:
    """What an earlier attempt planned and paid for, unless the session has moved to another epoch."""
    if job.stage.get("epoch") != session.epoch:
        return None
    plan = job.stage["plan"]
    return FoldPlan(**{**plan, "carried": tuple(plan["carried"])}), Draft(**job.stage["draft"])


def _draft_and_stage(job: ClaimedJob, planned: Planned, plan: FoldPlan, folded: list[StoredMessage]) -> Draft:
    fault("compact.summarised.before")
    if not jobs.heartbeat(job, f"summarising messages {plan.from_seq}–{plan.to_seq}"):
        raise JobFailed("Another worker took this job over.")
    draft = draft_summary(planned.session, planned.frame, _material(planned, plan, folded))
    _stage(job, planned.session.epoch, plan, draft)
    fault("compact.staged")
    return draft


def _material(planned: Planned, plan: FoldPlan, folded: list[StoredMessage]) -> Material:
    """Pinned messages go on word for word; the first and the latest user turn may not always be anchors."""
    session, frame = planned.session, planned.frame
    kept = [message for message in planned.messages if message.seq > plan.to_seq]
    required = required_of(session, frame, folded=folded, kept=kept)
    return Material(
        messages=[message for message in folded if not message.pinned],
        previous="\n\n".join(from_bytes(row.body) for row in summaries_of(session)),
        required=within_room(required, plan.summary_budget_tokens // 2, frame.counter.count),
        budget_tokens=plan.summary_budget_tokens,
    )


@transaction.atomic
def _stage(job: ClaimedJob, epoch: int, plan: FoldPlan, draft: Draft) -> None:
    """The draft and its price together: what is staged is booked, and never asked for again."""
    session = lock_session(project_id=job.project_id, ref=job.subject_id)
    stage = {"epoch": epoch, "plan": asdict(plan), "draft": asdict(draft)}
    if not jobs.save_stage(job, stage):
        raise JobFailed("Another worker took this job over.")
    if draft.spent is not None:
        book_summary(
            session,
            resolve_model(project_id=session.project_id, name=draft.spent["model"]),
            TokenUsage(**draft.spent["usage"]),
            hold_id=draft.spent["hold"],
            call_id=f"{job.id}:{epoch}",
        )
        session.save()


@transaction.atomic
def _commit(job: ClaimedJob, fold: Fold) -> dict[str, Any]:
    """One transaction: epoch check, checkpoint, summary, memory, signals, job. Later appends survive."""
    session = lock_session(project_id=job.project_id, ref=job.subject_id)
    if session.epoch != fold.epoch:
        raise JobFailed("The session changed its epoch meanwhile; planning again.")
    if not jobs.heartbeat(job):
        raise JobFailed("Another worker took this job over.")
    frame = frame_of(session)
    used, level = session.used_tokens, session.level
    write_checkpoint(session, frame, reason="before compaction")
    remember(session, frame, fold.memory, room_tokens=memory_room(frame))
    summary = fold_into_summary(
        session,
        frame,
        to_seq=fold.plan.to_seq,
        text=fold.draft.text,
        source=fold.draft.source,
        job_id=job.id,
        checks=fold.draft.checks,
    )
    spoken = messages.compaction_sequence(
        used=used,
        total=frame.total,
        before=summary.before_tokens,
        after=summary.after_tokens,
        chunks=fold.archived,
    )
    if level == "normal" and job.payload.get("reason") == BY_HAND:
        # Nothing was low: only what was done is said.
        spoken = spoken[2:]
    session.compactions += 1
    session.last_compaction = asdict(_attempt(session, frame, fold.draft))
    result = _result(summary, fold.draft, spoken)
    add_signal(session, "COMPACTED", result)
    session.save()
    jobs.complete(job, result)
    return result


def _result(summary: Summary, draft: Draft, spoken: list[str]) -> dict[str, Any]:
    return {
        "before": summary.before_tokens,
        "after": summary.after_tokens,
        "summary": summary.pk,
        "from_seq": summary.from_seq,
        "to_seq": summary.to_seq,
        "source": draft.source,
        "fallback": draft.fallback_reason or None,
        "checked": draft.checks.get("checked", {}),
        "messages": spoken,
    }


def _attempt(session: AgentSession, frame: Frame, draft: Draft) -> Attempt:
    return Attempt(
        outcome="fallback" if draft.fallback_reason else "committed",
        live_tokens_after=session.counted_tokens,
        target_tokens=frame.target_tokens,
    )


def tell_of_dead_compaction(job: DeadJob) -> None:
    """The session is as it was; whoever waits for room learns that none was made."""
    if job.kind == COMPACT_JOB:
        payload = {"reason": "job_dead", "detail": job.reason, "job": job.id}
        emit(session_id=job.subject_id, kind="COMPACTION_FAILED", payload=payload)


@transaction.atomic
def _record_refusal(job: ClaimedJob, refusal: Refusal) -> dict[str, Any]:
    """Remembered by the breaker, so that the same attempt is not made at every turn."""
    session = lock_session(project_id=job.project_id, ref=job.subject_id)
    result = {"refused": refusal.reason, "floor_tokens": refusal.floor_tokens}
    if not jobs.complete(job, result):
        raise JobFailed("Another worker took this job over.")
    last = last_attempt(session)
    session.last_compaction = asdict(
        Attempt(
            outcome="refused",
            live_tokens_after=session.counted_tokens,
            target_tokens=frame_of(session).target_tokens,
            failures=(last.failures if last else 0) + 1,
        )
    )
    add_signal(
        session,
        "COMPACTION_FAILED",
        {
            "reason": refusal.reason,
            "detail": refusal_sentence(refusal),
            "floor_tokens": refusal.floor_tokens,
        },
    )
    session.save()
    return result
