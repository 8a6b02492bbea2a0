"""The memory entries of a session."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Router
from pydantic import Field, StrictInt

from kernel.http.idempotency import idempotent
from kernel.http.replies import reply, reply_cached
from kernel.http.schemas import Flag, StrictSchema, Text
from sessions.api.contents import content_text
from sessions.services import memory
from sessions.services.frames import frame_of
from sessions.services.store import find_session
from teams.auth import READERS, ApiRequest

router = Router(tags=["Memory"])

Kind = Literal["fact", "preference", "decision", "error", "file"]
Priority = Annotated[StrictInt, Field(ge=0, le=1000)]


class EntryIn(StrictSchema):
    kind: Kind = "fact"
    text: Any
    priority: Priority = 50
    pinned: Flag = False
    key: Annotated[Text, Field(max_length=300)] = ""


class EntryPatch(StrictSchema):
    kind: Kind | None = None
    text: Any = None
    priority: Priority | None = None
    pinned: Flag | None = None


@router.get("/sessions/{session_id}/memory", response=dict[str, Any])
def list_memory(request: ApiRequest, session_id: str) -> HttpResponse:
    """In the order in which the memory section is filled: pinned, priority, newest."""
    request.auth.require(*READERS)
    session = find_session(project_id=request.auth.project_id, ref=session_id)
    rows = memory.memory_in_fill_order(session, frame_of(session))
    return reply_cached(request, {"items": [memory.entry_json(row) for row in rows], "next": None})


@router.post("/sessions/{session_id}/memory", response={201: dict[str, Any]})
@idempotent
def add_memory(request: ApiRequest, session_id: str, payload: EntryIn) -> HttpResponse:
    request.auth.require("agent", "manage")
    entry = memory.add_entry(
        project_id=request.auth.project_id,
        ref=session_id,
        kind=payload.kind,
        text=content_text(payload.text, "/text"),
        priority=payload.priority,
        pinned=payload.pinned,
        source=request.auth.actor,
        key=payload.key,
    )
    return reply(memory.entry_json(entry), status=201)


@router.patch("/sessions/{session_id}/memory/{entry_id}", response=dict[str, Any])
@idempotent
def change_memory(request: ApiRequest, session_id: str, entry_id: str, payload: EntryPatch) -> HttpResponse:
    request.auth.require("agent", "manage")
    changes = {name: value for name, value in payload.dict().items() if value is not None}
    if "text" in changes:
        changes["text"] = content_text(changes["text"], "/text")
    entry = memory.change_entry(
        project_id=request.auth.project_id, ref=session_id, entry_id=entry_id, changes=changes
    )
    return reply(memory.entry_json(entry))


@router.delete("/sessions/{session_id}/memory/{entry_id}", response={204: None})
@idempotent
def remove_memory(request: ApiRequest, session_id: str, entry_id: str) -> HttpResponse:
    request.auth.require("agent", "manage")
    memory.remove_entry(project_id=request.auth.project_id, ref=session_id, entry_id=entry_id)
    return HttpResponse(status=204)
