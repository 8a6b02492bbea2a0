"""Events that move a session's position and may call for a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sessions.core.message import StoredMessage
from sessions.models import AgentSession
from sessions.services.frames import Frame


def phase_changed(session: AgentSession, frame: Frame, phase: str) -> None:
    session.position = {**session.position, "phase": phase}


def story_completed(session: AgentSession, frame: Frame, payload: dict[str, Any]) -> None:
    session.position = {
        **session.position,
        **{key: payload[key] for key in ("epic", "story") if key in payload},
    }


def subagent_completed(session: AgentSession, frame: Frame) -> None:
    session.subagents_done += 1


def checkpoint_reported(session: AgentSession, frame: Frame, payload: dict[str, Any]) -> None:
    known = ("epic", "story", "phase", "task", "commit")
    session.position = {**session.position, **{key: payload[key] for key in known if key in payload}}


def read_commands(session: AgentSession, frame: Frame, messages: Sequence[StoredMessage]) -> None:
    """`*checkpoint` and `*clear` in a user message."""
