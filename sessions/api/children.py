"""Subagents: POST /sessions/{id}/children and POST /sessions/{id}/result."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Router

from kernel.http.idempotency import idempotent
from kernel.http.replies import reply
from kernel.http.schemas import Name, StrictSchema
from sessions.api.contents import clean_text, content_text
from sessions.api.sessions import session_json
from sessions.services import children
from teams.auth import ApiRequest

router = Router(tags=["Subagents"])


class ChildIn(StrictSchema):
    task: Any
    files: dict[str, Any] = {}
    expect: dict[str, Any] = {}
    model: Name | None = None
    profile: Name | None = None


class ResultIn(StrictSchema):
    result: Any


@router.post("/sessions/{session_id}/children", response={201: dict[str, Any]})
@idempotent
def open_child(request: ApiRequest, session_id: str, payload: ChildIn) -> HttpResponse:
    """A child with its task, files and expected result schema; nothing of the parent's history."""
    request.auth.require("agent")
    child, frame = children.open_child(
        project_id=request.auth.project_id,
        key_id=request.auth.key_id,
        parent_ref=session_id,
        task=clean_text(payload.task, "/task"),
        files={path: content_text(text, f"/files/{path}") for path, text in payload.files.items()},
        result_schema=payload.expect,
        model=payload.model,
        profile=payload.profile,
    )
    return reply(session_json(child, frame), status=201)


@router.post("/sessions/{session_id}/result", response=dict[str, Any])
@idempotent
def post_result(request: ApiRequest, session_id: str, payload: ResultIn) -> HttpResponse:
    """Valid for the schema the parent gave, or refused; the parent learns of it once."""
    request.auth.require("agent")
    child = children.record_result(project_id=request.auth.project_id, ref=session_id, result=payload.result)
    return reply({"id": child.pk, "parent": child.parent_id, "state": child.state, "result": child.result})
