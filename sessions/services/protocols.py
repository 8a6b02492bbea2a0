"""Named documents that an agent loads just in time and unloads to a reference."""

from __future__ import annotations

from sessions.models import AgentSession
from sessions.services.frames import Frame

DEFAULT_TOKENS = 1_000


def load(session: AgentSession, frame: Frame, *, name: str) -> None:
    _set(session, {**session.protocols, name: DEFAULT_TOKENS})


def unload(session: AgentSession, *, name: str) -> None:
    _set(session, {key: value for key, value in session.protocols.items() if key != name})


def _set(session: AgentSession, loaded: dict[str, int]) -> None:
    session.protocols = loaded
    session.parts["protocols"] = sum(loaded.values())
