"""What a compaction would fold now, or why it would not help: reads, never writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sessions.core.compaction import FoldPlan, Refusal, plan_fold
from sessions.core.contents import SUMMARY
from sessions.core.message import StoredMessage
from sessions.models import AgentSession
from sessions.services.compaction_requests import tail_room
from sessions.services.extraction import memory_room
from sessions.services.frames import Frame, frame_of
from sessions.services.store import find_session, live_messages

# The heading that stands above a summary.
HEADING_TOKENS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan together with what it was made from."""

    session: AgentSession
    frame: Frame
    plan: FoldPlan | Refusal
    messages: list[StoredMessage]


def plan_compaction(session: AgentSession) -> Planned:
    frame = frame_of(session)
    live = live_messages(session, frame)
    old_summary = session.parts.get("summary", 0)
    used = session.used_tokens
    movable = sum(m.tokens for m in live) + old_summary + _excess_memory(session, frame)
    plan = plan_fold(
        live,
        live_tokens=used,
        target_tokens=frame.target_tokens,
        tail_room_tokens=tail_room(frame),
        # What the provider reports beyond our count (tools, its own wrapping) cannot be folded either.
        fixed_tokens=max(0, used - movable),
        latest_user_seq=session.last_user_seq or None,
        pinned={session.first_user_seq},
        minimum_progress_bp=frame.policy.compaction.minimum_progress_bp,
        summary_room_tokens=_summary_room(frame),
        old_summary_tokens=old_summary,
        budget_tokens=frame.total,
    )
    return Planned(session=session, frame=frame, plan=plan, messages=live)


def preview_compaction(*, project_id: str, ref: str) -> dict[str, Any]:
    return plan_json(plan_compaction(find_session(project_id=project_id, ref=ref)))


def plan_json(planned: Planned) -> dict[str, Any]:
    plan, session = planned.plan, planned.session
    if isinstance(plan, Refusal):
        return {
            "possible": False,
            "reason": plan.reason,
            "detail": refusal_sentence(plan),
            "floor_tokens": plan.floor_tokens,
        }
    old_summary = session.parts.get("summary", 0)
    return {
        "possible": True,
        "from_seq": plan.from_seq,
        "to_seq": plan.to_seq,
        "fold_tokens": plan.fold_tokens,
        "keep_tokens": plan.keep_tokens,
        "summary_tokens": plan.summary_budget_tokens,
        "carried": list(plan.carried),
        "before": session.counted_tokens,
        "after": session.counted_tokens - plan.fold_tokens - old_summary + plan.summary_budget_tokens,
    }


def refusal_sentence(refusal: Refusal) -> str:
    return {
        "nothing_to_fold": "There is nothing old enough to fold away.",
        "floor_too_large": (
            f"What may not be folded weighs {refusal.floor_tokens:,} tokens, more than the budget:"
            " shorten pinned content or the system prompt, or switch to a larger model."
        ),
        "too_little_progress": "Folding would save less than the profile's minimum progress.",
    }[refusal.reason]


def _excess_memory(session: AgentSession, frame: Frame) -> int:
    held: int = session.parts.get("memory", 0)
    return max(0, held - memory_room(frame))


def _summary_room(frame: Frame) -> int | None:
    """A summary that is longer than its section would be cut again when it is shown."""
    section = frame.policy.section(SUMMARY)
    if section is None or section.size.kind not in ("share", "fixed"):
        return None
    return max(0, frame.allocation().sections[SUMMARY] - HEADING_TOKENS)
