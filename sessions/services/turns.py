"""Reads the history of reported turns."""

from __future__ import annotations

from django.db import connection

from sessions.models import AgentSession, Turn

_NEWEST = f"SELECT used_tokens FROM {Turn._meta.db_table} WHERE session_id = %s ORDER BY number DESC LIMIT %s"


def recent_used(session: AgentSession, turns: int = 5) -> list[int]:
    """What the last turns used, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [session.pk, turns])
        return [used for (used,) in reversed(cursor.fetchall())]
