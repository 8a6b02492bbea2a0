"""Reads the history of reported turns."""

from __future__ import annotations

from sessions.models import AgentSession, Turn


def recent_used(session: AgentSession, turns: int = 5) -> list[int]:
    """What the last turns used, oldest first."""
    newest = (
        Turn.objects.filter(session=session).order_by("-number").values_list("used_tokens", flat=True)[:turns]
    )
    return list(newest)[::-1]
