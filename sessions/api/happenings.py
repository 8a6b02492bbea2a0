"""Signals and interventions of a session."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Query, Router

from kernel.http.idempotency import idempotent
from kernel.http.replies import reply, reply_cached
from kernel.http.schemas import Limit, PlainDigits
from sessions.services import interventions
from sessions.services.signals import signal_json, wait_for_signals
from sessions.services.store import find_session
from teams.auth import READERS, ApiRequest

router = Router(tags=["Sessions"])


@router.get("/sessions/{session_id}/signals", response=dict[str, Any])
def list_signals(
    request: ApiRequest,
    session_id: str,
    limit: Limit,
    after: Annotated[int, PlainDigits, Query(0, ge=0, le=2**62)] = 0,
    wait: Annotated[int, PlainDigits, Query(0, ge=0, le=25)] = 0,
) -> HttpResponse:
    """In order; `after` continues, `wait` holds the answer up to 25 seconds until there is one."""
    request.auth.require(*READERS)
    session = find_session(project_id=request.auth.project_id, ref=session_id)
    rows = wait_for_signals(session, after=after, limit=limit, seconds=wait)
    following = rows[-1].number if rows else after
    return reply_cached(request, {"items": [signal_json(row) for row in rows], "next": str(following)})


@router.get("/sessions/{session_id}/interventions", response=dict[str, Any])
def list_interventions(request: ApiRequest, session_id: str) -> HttpResponse:
    """What the next turn must begin with."""
    request.auth.require(*READERS)
    session = find_session(project_id=request.auth.project_id, ref=session_id)
    rows = interventions.waiting(session)
    return reply_cached(
        request, {"items": [interventions.intervention_json(row) for row in rows], "next": None}
    )


@router.post("/sessions/{session_id}/interventions/{number}/ack", response=dict[str, Any])
@idempotent
def acknowledge_intervention(request: ApiRequest, session_id: str, number: str) -> HttpResponse:
    request.auth.require("agent")
    session = find_session(project_id=request.auth.project_id, ref=session_id)
    return reply(interventions.intervention_json(interventions.acknowledge(session=session, ref=number)))
