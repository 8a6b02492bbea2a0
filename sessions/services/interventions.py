"""Interventions: text that the next agent turn begins with."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from kernel.clock import read_now
from kernel.errors import NotFound
from kernel.http.replies import number_or_id
from kernel.ids import new_id
from kernel.rows import fetch_rows
from sessions.models import AgentSession, Intervention

# Said once: whoever begins again after it has done what it says.
CLEAR = "clear"


def queue(*, session_id: str, kind: str, text: str) -> None:
    """At most one of a kind waits; asking again before it is acknowledged changes nothing."""
    known = Intervention.objects.filter(session_id=session_id, kind=kind, state=Intervention.State.DELIVERED)
    if kind == CLEAR:
        # A later checkpoint: what was said about the earlier one no longer holds.
        _acknowledge_all(Intervention.objects.filter(session_id=session_id, kind=kind))
    elif known.exists():
        return
    Intervention.objects.bulk_create(
        [Intervention(id=new_id("intv"), session_id=session_id, kind=kind, text=text, created_at=read_now())],
        ignore_conflicts=True,
    )


def waiting(session: AgentSession) -> list[Intervention]:
    """Everything that the next turn must begin with, oldest first."""
    waiting_states = (Intervention.State.PENDING, Intervention.State.DELIVERED)
    return fetch_rows(
        Intervention, "session_id = %s AND state IN (%s, %s) ORDER BY id", [session.pk, *waiting_states]
    )


def answered(session: AgentSession) -> list[Intervention]:
    """What an answer to events says; a clear that was said here need not be said by the next context."""
    rows = waiting(session)
    mark_delivered([row for row in rows if row.kind == CLEAR])
    return rows


def at_start(session: AgentSession) -> list[Intervention]:
    """What the next context begins with. It is the new start that a clear asked for."""
    rows = waiting(session)
    done = [row.pk for row in rows if row.kind == CLEAR and row.state == Intervention.State.DELIVERED]
    if done:
        _acknowledge_all(Intervention.objects.filter(pk__in=done))
    return [row for row in rows if row.pk not in done]


def mark_delivered(interventions: list[Intervention]) -> None:
    ids = [row.pk for row in interventions if row.state == Intervention.State.PENDING]
    if ids:
        Intervention.objects.filter(pk__in=ids, state=Intervention.State.PENDING).update(
            state=Intervention.State.DELIVERED, delivered_at=read_now()
        )


@transaction.atomic
def acknowledge(*, session: AgentSession, ref: str) -> Intervention:
    """Once: a second acknowledgement gives the same answer."""
    row = session.interventions.select_for_update().filter(pk=_id_of(session, ref)).first()
    if row is None:
        raise NotFound()
    if row.state != Intervention.State.ACKNOWLEDGED:
        row.state = Intervention.State.ACKNOWLEDGED
        row.acknowledged_at = read_now()
        row.save(update_fields=["state", "acknowledged_at"])
    return row


def withdraw(session: AgentSession, kind: str) -> None:
    """Drops what waits of this kind once its reason is gone, for example after the agent compacted itself."""
    _acknowledge_all(session.interventions.filter(kind=kind))


def _acknowledge_all(rows: QuerySet[Intervention]) -> None:
    rows.exclude(state=Intervention.State.ACKNOWLEDGED).update(
        state=Intervention.State.ACKNOWLEDGED, acknowledged_at=read_now()
    )


def _id_of(session: AgentSession, ref: str) -> str | None:
    """A number is a place among all interventions of the session, which are never removed."""
    number = number_or_id(ref).get("number")
    if number is None:
        return ref
    ids = session.interventions.order_by("id").values_list("id", flat=True)
    return ids[int(number) - 1 : int(number)].first() if number else None


def intervention_json(row: Intervention) -> dict[str, Any]:
    number = Intervention.objects.filter(session_id=row.session_id, pk__lte=row.pk).count()
    return {"id": row.pk, "number": number, "kind": row.kind, "text": row.text, "state": row.state}
