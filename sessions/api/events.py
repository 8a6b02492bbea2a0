"""POST /sessions/{id}/events: what happened."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Router

from kernel.http.idempotency import idempotent
from kernel.http.replies import reply
from kernel.http.schemas import Name, StrictSchema
from sessions.services.ingest import record_events
from teams.auth import ApiRequest

router = Router(tags=["Sessions"])


class EventsIn(StrictSchema):
    events: list[Any]
    format: Name = "native"


@router.post("/sessions/{session_id}/events", response={201: dict[str, Any]})
@idempotent
def post_events(request: ApiRequest, session_id: str, payload: EventsIn) -> HttpResponse:
    """Records a batch, all or nothing; the answer says what is left and what to inject next."""
    request.auth.require("agent")
    answer = record_events(
        project_id=request.auth.project_id, ref=session_id, format=payload.format, events=payload.events
    )
    return reply(answer, status=201)
