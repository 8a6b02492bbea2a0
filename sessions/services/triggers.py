"""Events that move a session's position, and the reasons to checkpoint and clear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sessions.core.checkpoint_text import (
    ClearRules,
    Command,
    TurnFacts,
    clear_triggers,
    command_in,
    has_write_signal,
)
from sessions.core.message import StoredMessage, body_text
from sessions.models import AgentSession
from sessions.services.frames import Frame

POSITION = ("epic", "story", "phase", "task", "commit")


class TurnBoundary:
    """Gathers what a batch says about checkpoints; decided once, when the batch is complete."""

    def __init__(self) -> None:
        self.story_complete = False
        self.phase_transition = False
        self.command: Command | None = None
        self.write_signal = False

    def read_messages(self, messages: Sequence[StoredMessage]) -> None:
        """`*checkpoint` and `*clear` of a person; the write signal of an agent."""
        for message in messages:
            if message.is_human:
                self.command = command_in(body_text(message.body)) or self.command
            elif message.role == "assistant" and has_write_signal(body_text(message.body)):
                self.write_signal = True

    def phase_changed(self, session: AgentSession, phase: str) -> None:
        before = session.position.get("phase")
        self.phase_transition = self.phase_transition or (before is not None and before != phase)
        session.position = {**session.position, "phase": phase}

    def story_completed(self, session: AgentSession, payload: dict[str, Any]) -> None:
        self.story_complete = True
        place(session, payload)

    def checkpoint_reported(self, session: AgentSession, payload: dict[str, Any]) -> None:
        self.write_signal = True
        place(session, payload)

    def reasons(self, session: AgentSession, frame: Frame) -> tuple[str, ...]:
        """Why the context must be checkpointed and cleared now; the size is judged by the thresholds."""
        triggers = frame.policy.triggers
        facts = TurnFacts(
            story_complete=self.story_complete,
            phase_transition=self.phase_transition,
            subagents_complete=session.subagents_done,
            command=self.command,
            write_signal=self.write_signal,
        )
        rules = ClearRules(
            story_complete=triggers.story_complete,
            phase_transition=triggers.phase_transition,
            subagents_complete=triggers.subagents_complete,
            commands=triggers.commands,
        )
        return tuple(clear_triggers(facts, rules))


def place(session: AgentSession, payload: dict[str, Any]) -> None:
    """Takes over what the payload says about where the work stands."""
    said = {key: str(payload[key]) for key in POSITION if payload.get(key) is not None}
    session.position = {**session.position, **said}
