"""Observes pressure after something changed: level, flags, signals, and what becomes due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from budgets.core import messages
from budgets.core.basis_points import WHOLE_BP
from budgets.core.pressure import Observation, clear, dump_state, load_state, observe
from kernel.clock import read_now
from kernel.errors import Invalid
from sessions.models import AgentSession
from sessions.services.budget_view import MESSAGE_PARTS, section_usage
from sessions.services.checkpoints import clear_context
from sessions.services.compaction_requests import request_due_compaction
from sessions.services.exhaustion import note_overflow
from sessions.services.frames import Frame, frame_of
from sessions.services.signals import add_signal
from sessions.services.store import changing_session
from sessions.services.turns import recent_used


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What is said to the agent about its budget."""

    warning: str | None
    lines: tuple[str, ...]


def observe_pressure(session: AgentSession, frame: Frame, *, now: datetime | None = None) -> Spoken:
    """Under the session's lock; the caller saves the session row."""
    used = session.used_tokens
    observation = observe(
        load_state(session.pressure),
        used,
        frame.policy.thresholds,
        total=frame.total,
        window=frame.context_window,
        at=int((now or read_now()).timestamp()),
        debug=settings.DEBUG_BUDGET,
    )
    session.pressure = dump_state(observation.state)
    session.level = observation.level
    for crossed in observation.crossed:
        add_signal(
            session, crossed.name, {"level": crossed.level, "used": crossed.used, "limit": crossed.limit}
        )
    spoken = _spoken(session, frame, observation)
    if "checkpoint" in observation.due_actions and _clearing_helps(session, frame):
        clear_context(session, frame, reasons=("context_size",))
        note_overflow(session, frame, used=used)
        return spoken
    request_due_compaction(session, frame, actions=observation.due_actions)
    return spoken


def _clearing_helps(session: AgentSession, frame: Frame) -> bool:
    """Where the sections alone are too large, clearing at every turn would change nothing."""
    said = sum(session.parts.get(role, 0) for role in MESSAGE_PARTS)
    reported_more = session.used_tokens > session.counted_tokens
    return (
        reported_more or said * WHOLE_BP >= session.used_tokens * frame.policy.compaction.minimum_progress_bp
    )


def _spoken(session: AgentSession, frame: Frame, observation: Observation) -> Spoken:
    used, total = session.used_tokens, frame.total
    warning = messages.budget_warning(used, total) if observation.speaking else None
    lines = [warning] if warning else []
    if settings.DEBUG_BUDGET:
        lines.append(messages.budget_used(used, total))
        usage = section_usage(session, frame)
        lines.append(messages.section_usage(usage, frame.allocation(usage).sections))
    return Spoken(warning=warning, lines=tuple(lines))


def trend_line(session: AgentSession) -> str | None:
    """Said at every fifth turn, from the last five."""
    if session.turns == 0 or session.turns % 5:
        return None
    return messages.usage_trend(session.turns, recent_used(session))


def clear_flags(*, project_id: str, ref: str, flags: list[str]) -> tuple[AgentSession, Frame]:
    """Flags go one by one; one still above its threshold latches again at the next report."""
    with changing_session(project_id=project_id, ref=ref) as session:
        frame = frame_of(session)
        _refuse_unknown(frame, flags)
        state = load_state(session.pressure)
        for flag in flags:
            state = clear(state, flag)
        session.pressure = dump_state(state)
    return session, frame


def _refuse_unknown(frame: Frame, flags: list[str]) -> None:
    known = [threshold.flag for threshold in frame.policy.thresholds]
    unknown = [flag for flag in flags if flag not in known]
    if unknown:
        raise Invalid(
            f"This profile has no flag {unknown[0]!r}; it has {', '.join(known)}.", code="unknown_flag"
        )
