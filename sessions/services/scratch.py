"""The notebook of a session: what people said, what changed, what failed, what was written."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.core.message import StoredMessage
from sessions.models import AgentSession
from sessions.services.frames import Frame


def watch_dead_ends(session: AgentSession, frame: Frame, messages: Sequence[StoredMessage]) -> None:
    """Looks for approaches that keep failing."""
