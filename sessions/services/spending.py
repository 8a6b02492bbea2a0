"""Looks at the caps after money was spent: warns, pauses and asks a person."""

from __future__ import annotations

from sessions.models import AgentSession


def observe(session: AgentSession) -> None:
    """Under the session's lock; the caller saves the session row."""
