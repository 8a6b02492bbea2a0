"""Signals: what happened, in order, for whoever wants to know."""

from __future__ import annotations

import threading
import time
from typing import Any

from django.db import connection
from django.db.models import F

from kernel.clock import read_now
from sessions.models import AgentSession, Signal

_POLL_SECONDS = 0.5
# A quarter of the web process's threads at most wait; the others keep answering.
_waiters = threading.BoundedSemaphore(4)


def add_signal(session: AgentSession, kind: str, payload: dict[str, Any] | None = None) -> Signal:
    """Appends under the session's lock; the caller saves the session row."""
    session.signal_seq += 1
    return Signal.objects.create(
        session=session,
        project_id=session.project_id,
        number=session.signal_seq,
        kind=kind,
        payload=payload or {},
        created_at=read_now(),
    )


def emit(*, session_id: str, kind: str, payload: dict[str, Any] | None = None) -> None:
    """Appends for callers that do not hold the session; takes its row for the rest of the transaction."""
    AgentSession.objects.filter(pk=session_id).update(signal_seq=F("signal_seq") + 1)
    session = AgentSession.objects.only("id", "project_id", "signal_seq").get(pk=session_id)
    Signal.objects.create(
        session=session,
        project_id=session.project_id,
        number=session.signal_seq,
        kind=kind,
        payload=payload or {},
        created_at=read_now(),
    )


def signal_json(signal: Signal) -> dict[str, Any]:
    return {
        "number": signal.number,
        "kind": signal.kind,
        "payload": signal.payload,
        "created_at": signal.created_at.isoformat().replace("+00:00", "Z"),
    }


def wait_for_signals(session: AgentSession, *, after: int, limit: int, seconds: int) -> list[Signal]:
    """Polls without holding a database connection between looks; few callers may wait at once."""
    deadline = time.monotonic() + seconds
    while True:
        rows = list(Signal.objects.filter(session=session, number__gt=after).order_by("number")[:limit])
        if rows or time.monotonic() >= deadline or not _waiters.acquire(blocking=False):
            return rows
        try:
            connection.close()
            time.sleep(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic())))
        finally:
            _waiters.release()
