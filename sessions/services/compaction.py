"""Folds old turns away: plan, summarise outside any transaction, verify, commit under the epoch check."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction

from budgets.core import messages
from kernel.errors import Conflict
from kernel.faults import fault
from kernel.jobs import queue as jobs
from kernel.jobs.registry import ClaimedJob, JobFailed
from sessions.core.compaction import Attempt, FoldPlan, Refusal, plan_fold
from sessions.core.message import StoredMessage
from sessions.models import AgentSession, Message
from sessions.services.archive import index_up_to
from sessions.services.checkpoints import write_checkpoint
from sessions.services.compaction_requests import enqueue_compaction, last_attempt, tail_room
from sessions.services.extraction import extract_into_memory
from sessions.services.frames import Frame, frame_of
from sessions.services.manifests import fold_into_summary, summaries_of
from sessions.services.signals import add_signal
from sessions.services.store import find_session, from_bytes, live_messages, lock_session
from sessions.services.summarising import Draft, draft_summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan together with what it was made from."""

    session: AgentSession
    frame: Frame
    plan: FoldPlan | Refusal
    messages: list[StoredMessage]


def plan_compaction(session: AgentSession) -> Planned:
    """What a compaction would fold now; reads, never writes."""
    frame = frame_of(session)
    live = live_messages(session, frame)
    message_tokens = sum(message.tokens for message in live)
    summary_tokens = session.parts.get("summary", 0)
    plan = plan_fold(
        live,
        live_tokens=session.counted_tokens,
        target_tokens=frame.target_tokens,
        tail_room_tokens=tail_room(frame),
        fixed_tokens=max(0, session.counted_tokens - message_tokens - summary_tokens),
        latest_user_seq=session.last_user_seq or None,
        pinned=set(Message.objects.filter(session=session, pinned=True).values_list("seq", flat=True)),
        minimum_progress_bp=frame.policy.compaction.minimum_progress_bp,
        budget_tokens=frame.total,
    )
    return Planned(session=session, frame=frame, plan=plan, messages=live)


def plan_json(planned: Planned) -> dict[str, Any]:
    if isinstance(planned.plan, Refusal):
        return {"possible": False, "reason": planned.plan.reason, "floor_tokens": planned.plan.floor_tokens}
    plan = planned.plan
    return {
        "possible": True,
        "from_seq": plan.from_seq,
        "to_seq": plan.to_seq,
        "fold_tokens": plan.fold_tokens,
        "keep_tokens": plan.keep_tokens,
        "summary_tokens": plan.summary_budget_tokens,
        "carried": list(plan.carried),
        "before": planned.session.counted_tokens,
        "after": planned.session.counted_tokens - plan.fold_tokens + plan.summary_budget_tokens,
    }


@transaction.atomic
def start_compaction(*, project_id: str, ref: str) -> tuple[str, dict[str, Any]]:
    """By hand: a plan that cannot help is refused instead of queued."""
    session = lock_session(project_id=project_id, ref=ref)
    planned = plan_compaction(session)
    if isinstance(planned.plan, Refusal):
        raise Conflict(
            _refusal_sentence(planned.plan), code=planned.plan.reason, floor_tokens=planned.plan.floor_tokens
        )
    job, _ = enqueue_compaction(session, reason="by hand")
    return job.pk, plan_json(planned)


def preview_compaction(*, project_id: str, ref: str) -> dict[str, Any]:
    return plan_json(plan_compaction(find_session(project_id=project_id, ref=ref)))


def run_compaction(job: ClaimedJob) -> dict[str, Any]:
    """The worker's side. A crash anywhere leaves the session fully before or fully after."""
    session = find_session(project_id=job.project_id, ref=job.subject_id)
    done = session.summaries.filter(job_id=job.id).first()
    if done is not None:
        return {"before": done.before_tokens, "after": done.after_tokens, "summary": done.pk}
    planned = plan_compaction(session)
    fault("compact.planned")
    if isinstance(planned.plan, Refusal):
        _record_refusal(job, planned.plan)
        return {"refused": planned.plan.reason}
    draft = _drafted(job, planned, planned.plan)
    index_up_to(session, planned.frame, planned.plan.to_seq)
    fault("compact.commit.before")
    result = _commit(job, planned, planned.plan, draft)
    fault("compact.commit.after")
    return result


def _drafted(job: ClaimedJob, planned: Planned, plan: FoldPlan) -> Draft:
    """The summary, from the stage when an earlier attempt paid for it already."""
    staged = job.stage.get("draft")
    if staged and job.stage.get("epoch") == planned.session.epoch and job.stage.get("to_seq") == plan.to_seq:
        return Draft(**staged)
    fault("compact.summarised.before")
    jobs.heartbeat(job, f"summarising messages {plan.from_seq}–{plan.to_seq}")
    previous = "\n\n".join(from_bytes(row.body) for row in summaries_of(planned.session))
    folded = [m for m in planned.messages if m.seq <= plan.to_seq and m.seq not in plan.carried]
    draft = draft_summary(
        planned.session,
        planned.frame,
        messages=folded,
        previous=previous,
        budget_tokens=plan.summary_budget_tokens,
    )
    stage = {"draft": asdict(draft), "epoch": planned.session.epoch, "to_seq": plan.to_seq}
    if not jobs.save_stage(job, stage):
        raise JobFailed("Another worker took this job over.")
    fault("compact.staged")
    return draft


@transaction.atomic
def _commit(job: ClaimedJob, planned: Planned, plan: FoldPlan, draft: Draft) -> dict[str, Any]:
    """One transaction: epoch check, summary, memory, manifest, signals. Later appends survive."""
    session = lock_session(project_id=job.project_id, ref=job.subject_id)
    if session.epoch != planned.session.epoch:
        raise JobFailed("The session changed its epoch meanwhile; planning again.")
    if not jobs.heartbeat(job):
        raise JobFailed("Another worker took this job over.")
    frame = frame_of(session)
    used = session.used_tokens
    write_checkpoint(session, frame, reason="before compaction")
    summary = fold_into_summary(
        session,
        frame,
        to_seq=plan.to_seq,
        text=draft.text,
        source=draft.source,
        job_id=job.id,
        checks=draft.checks,
    )
    extract_into_memory(session, frame, [m for m in planned.messages if m.seq <= plan.to_seq])
    chunks = plan.to_seq - plan.from_seq + 1
    lines = messages.compaction_sequence(
        used=used,
        total=frame.total,
        before=summary.before_tokens,
        after=session.counted_tokens,
        chunks=chunks,
    )
    session.compactions += 1
    session.last_compaction = _attempt(session, frame, draft)
    add_signal(
        session,
        "COMPACTED",
        {
            "before": summary.before_tokens,
            "after": session.counted_tokens,
            "summary": summary.pk,
            "messages": lines,
        },
    )
    session.save()
    return {
        "before": summary.before_tokens,
        "after": session.counted_tokens,
        "summary": summary.pk,
        "messages": lines,
    }


def _attempt(session: AgentSession, frame: Frame, draft: Draft) -> dict[str, Any]:
    return asdict(
        Attempt(
            outcome="fallback" if draft.fallback_reason else "committed",
            live_tokens_after=session.counted_tokens,
            target_tokens=frame.target_tokens,
        )
    )


@transaction.atomic
def _record_refusal(job: ClaimedJob, refusal: Refusal) -> None:
    """Remembered by the breaker, so that the same attempt is not made at every turn."""
    session = lock_session(project_id=job.project_id, ref=job.subject_id)
    last = last_attempt(session)
    frame = frame_of(session)
    session.last_compaction = asdict(
        Attempt(
            outcome="refused",
            live_tokens_after=session.counted_tokens,
            target_tokens=frame.target_tokens,
            failures=(last.failures if last else 0) + 1,
        )
    )
    add_signal(session, "COMPACTION_FAILED", {"reason": refusal.reason, "floor_tokens": refusal.floor_tokens})
    session.save()


def _refusal_sentence(refusal: Refusal) -> str:
    return {
        "nothing_to_fold": "There is nothing old enough to fold away.",
        "floor_too_large": (
            f"What may not be folded weighs {refusal.floor_tokens:,} tokens, more than the budget:"
            " shorten pinned content or the system prompt, or switch to a larger model."
        ),
        "too_little_progress": "Folding would save less than the profile's minimum progress.",
    }[refusal.reason]
