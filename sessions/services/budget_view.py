"""What a session's budget looks like from outside: both percentages, every part, what is left."""

from __future__ import annotations

from typing import Any

from budgets.core.pressure import load_state
from budgets.core.ratios import available
from budgets.core.usage import recent_mean
from kernel.http.schemas import usd
from sessions.models import AgentSession, SectionContent
from sessions.services.budget_money import caps_view, payback_view
from sessions.services.frames import Frame
from sessions.services.turns import recent_used

MESSAGE_PARTS = ("user", "assistant", "tool", "system")
_SECTION_OF_PART = {"summary": "conversation_summary", "memory": "memory", "protocols": "protocols"}


def budget_summary(session: AgentSession, frame: Frame) -> dict[str, Any]:
    """The part of it that every answer about a session carries."""
    used, total, window = session.used_tokens, frame.total, frame.context_window
    flags = load_state(session.pressure).flags
    return {
        "used": used,
        "total": total,
        "remaining": total - used,
        "over": used > total,
        "context_window": window,
        "usage_ratio": ratio(used, total),
        "window_ratio": ratio(used, window),
        "source": _source(session, frame),
        "level": session.level,
        "flags": {threshold.flag: threshold.flag in flags for threshold in frame.policy.thresholds},
        "epoch": session.epoch,
        "dropped_unsummarised": session.dropped_unsummarised,
    }


def budget_view(session: AgentSession, frame: Frame) -> dict[str, Any]:
    used_by_section = section_usage(session, frame)
    allocation = frame.allocation(used_by_section)
    planned = {name: allocation.sections.get(name, 0) for name in (*allocation.sections, *used_by_section)}
    left = available({"total": frame.total, **planned}, used_by_section)
    history = recent_used(session)
    return {
        **budget_summary(session, frame),
        "model": session.model,
        "model_source": frame.model.source,
        "profile": {"name": session.profile.name, "revision": frame.revision.number},
        "window": {
            "context_window": frame.context_window,
            "safe": frame.window.safe,
            "output_reserve": frame.window.output_reserve,
            "max_input": frame.window.max_input,
            "source": frame.model.source,
        },
        "sections": [
            {
                "name": name,
                "planned": planned[name],
                "used": used_by_section.get(name, 0),
                "available": left.sections[name],
                "over": used_by_section.get(name, 0) > planned[name],
            }
            for name in planned
        ],
        "unallocated": allocation.unallocated,
        "parts": dict(sorted(session.parts.items())),
        "compaction_target": frame.target_tokens,
        "trend": {"turns": session.turns, "recent": history, "average": recent_mean(history)},
        "turns_to_compaction": _turns_to_compaction(session, frame, history),
        "cost": {"spent_usd": usd(session.spent_nano), "unpriced": session.has_unpriced},
        "payback": payback_view(session, frame),
        "caps": caps_view(session, frame),
    }


def ratio(used: int, whole: int) -> float:
    """For people; decisions are made in integers."""
    return round(used / whole, 4) if whole else 0.0


def section_usage(session: AgentSession, frame: Frame) -> dict[str, int]:
    """The live view by section; the newest messages belong to the section that holds the tail."""
    rows = SectionContent.objects.filter(session=session).order_by("id").values_list("name", "tokens")
    used = dict(rows)
    tail = next((s.name for s in frame.policy.sections if s.fill in TAIL_FILLS), "recent_messages")
    used[tail] = used.get(tail, 0) + sum(session.parts.get(part, 0) for part in MESSAGE_PARTS)
    for part, section in _SECTION_OF_PART.items():
        if session.parts.get(part):
            used[section] = used.get(section, 0) + session.parts[part]
    return used


TAIL_FILLS = ("sticky_tail", "newest_first", "head_middle_tail")


def _source(session: AgentSession, frame: Frame) -> str:
    if session.reported_prompt is not None and session.used_tokens == session.reported_prompt:
        return "reported"
    return frame.counter.source


def _turns_to_compaction(session: AgentSession, frame: Frame, history: list[int]) -> int | None:
    """At the growth of the last turns; None while there is nothing to judge by."""
    growth = (history[-1] - history[0]) // (len(history) - 1) if len(history) > 1 else 0
    if growth <= 0:
        return None
    limits = [
        t.at * (frame.context_window if t.basis == "window" else frame.total) // 10_000
        if t.basis != "tokens"
        else t.at
        for t in frame.policy.thresholds
        if t.action == "compact"
    ]
    room = min([*limits, frame.total]) - session.used_tokens
    return max(0, room // growth)
