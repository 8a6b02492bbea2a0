"""Search in what was folded away, for sections that are filled by relevance."""

from __future__ import annotations

from sessions.core.message import Hit
from sessions.models import AgentSession
from sessions.services.frames import Frame


def hits_for(session: AgentSession, frame: Frame, query: str) -> list[Hit]:
    return []
