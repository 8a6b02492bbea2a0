"""Exhaustion: the window overflowed before a checkpoint; one is written at once, the agent starts again."""

from __future__ import annotations

import structlog

from kernel.errors import Conflict
from sessions.errors import ContextExhausted
from sessions.models import AgentSession, Checkpoint
from sessions.services.checkpoints import clear_context, find_checkpoint
from sessions.services.frames import Frame
from sessions.services.signals import add_signal

log = structlog.get_logger(__name__)

SIGNAL = "CONTEXT_EXHAUSTED"
TRIGGER = "context_exhausted"
# Kept on the session until its agent has been told.
REASON = "The context overflowed before a checkpoint was written."


def note_overflow(session: AgentSession, frame: Frame, *, used: int) -> None:
    """An agent reported more than its window holds; the caller has written the checkpoint and cleared.

    Under the session's lock; the caller saves the session row.
    """
    if used <= frame.context_window or session.state != AgentSession.State.ACTIVE:
        return
    session.state, session.pause_reason = AgentSession.State.EXHAUSTED, REASON
    if not any(row.signal == SIGNAL for row in frame.policy.thresholds):
        add_signal(session, SIGNAL, {"used": used, "limit": frame.context_window})
    log.warning("context exhausted", session=session.pk, used=used, window=frame.context_window)


def tell(session: AgentSession) -> ContextExhausted | None:
    """Once: the question after that resumes from the checkpoint."""
    if session.state != AgentSession.State.EXHAUSTED:
        return None
    if session.pause_reason:
        session.pause_reason = ""
        session.save(update_fields=["pause_reason"])
        return _problem(session)
    session.state = AgentSession.State.ACTIVE
    return None


def clear_overflow(session: AgentSession, frame: Frame) -> ContextExhausted | None:
    """What cannot fit is checkpointed and cleared, where the profile works by checkpoints and it can help.

    The answer is returned, not raised: it must be committed together with the checkpoint.
    """
    works_by_checkpoints = any(row.action == "checkpoint" for row in frame.policy.thresholds)
    if not works_by_checkpoints or session.head_seq == session.base_seq or session.used_tokens <= frame.total:
        return None
    log.warning("context exhausted", session=session.pk, used=session.used_tokens, total=frame.total)
    add_signal(session, SIGNAL, {"used": session.used_tokens, "limit": frame.total})
    clear_context(session, frame, reasons=(TRIGGER,))
    session.state = AgentSession.State.EXHAUSTED
    session.save()
    return _problem(session)


def _problem(session: AgentSession) -> ContextExhausted:
    checkpoint = last_valid_checkpoint(session)
    return ContextExhausted(
        "The context is exhausted. It was checkpointed and cleared; ask again to resume from the checkpoint.",
        resume_from=checkpoint.pk if checkpoint else None,
        checkpoint=checkpoint.number if checkpoint else None,
    )


def last_valid_checkpoint(session: AgentSession) -> Checkpoint | None:
    for number in session.checkpoints.order_by("-number").values_list("number", flat=True).iterator():
        try:
            return find_checkpoint(session, str(number))
        except Conflict:
            log.error("checkpoint damaged", session=session.pk, number=number)
    return None
