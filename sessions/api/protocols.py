"""The project's protocol registry, and loading into a session."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Router
from pydantic import Field

from kernel.http.idempotency import idempotent
from kernel.http.replies import page_of, reply, reply_cached, row_before
from kernel.http.schemas import Cursor, Limit, Name, StrictSchema, Text
from sessions.api.contents import content_text
from sessions.models import Protocol
from sessions.services import protocols
from sessions.services.store import from_bytes
from teams.auth import READERS, ApiRequest

router = Router(tags=["Protocols"])


class ProtocolIn(StrictSchema):
    name: Name
    text: Any = ""
    action: Annotated[Text, Field(max_length=200)] = ""
    size: Literal["small", "medium", "large"] | None = None


@router.get("/protocols", response=dict[str, Any])
def list_protocols(request: ApiRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    request.auth.require(*READERS)
    rows = Protocol.objects.of_project(request.auth.project_id).order_by("id")
    after = row_before(rows, cursor)
    if after is not None:
        rows = rows.filter(pk__gt=after)
    page = page_of(list(rows[: limit + 1]), limit=limit, key=lambda row: row.pk, shape=protocol_json)
    return reply_cached(request, page)


@router.post("/protocols", response={201: dict[str, Any]})
@idempotent
def register_protocol(request: ApiRequest, payload: ProtocolIn) -> HttpResponse:
    """Registers or replaces a named document and the action that loads it."""
    request.auth.require("manage")
    row = protocols.register_protocol(
        project_id=request.auth.project_id,
        team_id=request.auth.team_id,
        actor=request.auth.actor,
        name=payload.name,
        text=content_text(payload.text, "/text"),
        action=payload.action,
        size=payload.size,
    )
    return reply(protocol_json(row), status=201)


@router.post("/sessions/{session_id}/protocols/{name}/load", response=dict[str, Any])
@idempotent
def load_protocol(request: ApiRequest, session_id: str, name: str) -> HttpResponse:
    """By the protocol's name or by the action that its entry names."""
    request.auth.require("agent")
    session, row = protocols.load_into_session(project_id=request.auth.project_id, ref=session_id, name=name)
    return reply({**protocols.running_total(session), "text": from_bytes(row.body)})


@router.post("/sessions/{session_id}/protocols/{name}/unload", response=dict[str, Any])
@idempotent
def unload_protocol(request: ApiRequest, session_id: str, name: str) -> HttpResponse:
    request.auth.require("agent")
    session = protocols.unload_from_session(project_id=request.auth.project_id, ref=session_id, name=name)
    return reply(protocols.running_total(session))


def protocol_json(row: Protocol) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "action": row.action or None,
        "tokens": row.tokens,
        "updated_at": row.updated_at.isoformat().replace("+00:00", "Z"),
    }
