"""Signals: what happened, in order, for whoever wants to know."""

from __future__ import annotations

from typing import Any

from kernel.clock import read_now
from sessions.models import AgentSession, Signal
from sessions.services.waiting import wait_until
from teams.webhooks import publish


def add_signal(session: AgentSession, kind: str, payload: dict[str, Any] | None = None) -> Signal:
    """Appends under the session's lock; the caller saves the session row."""
    session.signal_seq += 1
    signal = Signal.objects.create(
        session=session,
        project_id=session.project_id,
        number=session.signal_seq,
        kind=kind,
        payload=payload or {},
        created_at=read_now(),
    )
    told = {"session": session.pk, "external_id": session.external_id, **signal_json(signal)}
    publish(project_id=session.project_id, kind=kind, payload=told)
    return signal


def emit(*, session_id: str, kind: str, payload: dict[str, Any] | None = None) -> None:
    """Appends for callers that do not hold the session; takes its row for the rest of the transaction."""
    session = AgentSession.objects.select_for_update().only("id", "project_id", "external_id", "signal_seq")
    row = session.get(pk=session_id)
    add_signal(row, kind, payload)
    row.save(update_fields=["signal_seq"])


def signal_json(signal: Signal) -> dict[str, Any]:
    return {
        "number": signal.number,
        "kind": signal.kind,
        "payload": signal.payload,
        "created_at": signal.created_at.isoformat().replace("+00:00", "Z"),
    }


def wait_for_signals(session: AgentSession, *, after: int, limit: int, seconds: int) -> list[Signal]:
    return wait_until(
        lambda: list(Signal.objects.filter(session=session, number__gt=after).order_by("number")[:limit]),
        is_there=bool,
        seconds=seconds,
    )
