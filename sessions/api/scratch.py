"""The notebook of a session: index, four detail documents, and notes that the engine reports."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Router
from pydantic import Field

from kernel.http.idempotency import idempotent
from kernel.http.replies import reply
from kernel.http.schemas import StrictSchema, Text
from sessions.api.contents import content_text
from sessions.core.scratch import Scratch, detail_documents, render_scratch
from sessions.models import AgentSession, ScratchNote
from sessions.services import scratch
from sessions.services.store import find_session
from teams.auth import READERS, ApiRequest

router = Router(tags=["Scratch"])

Document = Literal["human-input", "artifacts"]


# As in a state_change event.
StateName = Annotated[Text, Field(max_length=255)]


class DeadEndIn(StrictSchema):
    description: Any


class StateChangeIn(StrictSchema):
    previous: StateName = ""
    new: StateName


@router.get("/sessions/{session_id}/scratch", response=dict[str, Any])
def get_scratch(request: ApiRequest, session_id: str) -> HttpResponse:
    """Markdown (the index, at most 200 lines) or JSON, by Accept."""
    notebook = scratch.read_scratch(_readable(request, session_id))
    if _wants_markdown(request):
        return _markdown(render_scratch(notebook))
    return reply({"markdown": render_scratch(notebook), **_json(notebook)})


# Django answers 405 from the first path that matches: paths that also take a POST stand before {document}.
@router.get("/sessions/{session_id}/scratch/dead-ends", response=dict[str, Any])
def get_dead_ends(request: ApiRequest, session_id: str) -> HttpResponse:
    session = _readable(request, session_id)
    items = [_dead_end_json(note) for note in scratch.dead_ends(session)]
    return _document(request, session, "dead-ends", items=items)


@router.get("/sessions/{session_id}/scratch/state-changes", response=dict[str, Any])
def get_state_changes(request: ApiRequest, session_id: str) -> HttpResponse:
    return _document(request, _readable(request, session_id), "state-changes")


@router.post("/sessions/{session_id}/scratch/dead-ends", response={201: dict[str, Any]})
@idempotent
def add_dead_end(request: ApiRequest, session_id: str, payload: DeadEndIn) -> HttpResponse:
    request.auth.require("agent")
    scratch.report_dead_end(
        project_id=request.auth.project_id,
        ref=session_id,
        description=content_text(payload.description, "/description"),
    )
    return reply({"recorded": True}, status=201)


@router.post("/sessions/{session_id}/scratch/dead-ends/{note_id}/dismiss", response=dict[str, Any])
@idempotent
def dismiss_dead_end(request: ApiRequest, session_id: str, note_id: str) -> HttpResponse:
    """A finding that was wrong leaves the notebook; it is not found again."""
    request.auth.require("agent", "manage")
    scratch.dismiss_dead_end(project_id=request.auth.project_id, ref=session_id, note_id=note_id)
    return reply({"dismissed": True})


@router.post("/sessions/{session_id}/scratch/state-changes", response={201: dict[str, Any]})
@idempotent
def add_state_change(request: ApiRequest, session_id: str, payload: StateChangeIn) -> HttpResponse:
    request.auth.require("agent")
    scratch.report_state_change(
        project_id=request.auth.project_id, ref=session_id, previous=payload.previous, new=payload.new
    )
    return reply({"recorded": True}, status=201)


@router.get("/sessions/{session_id}/scratch/{document}", response=dict[str, Any])
def get_document(request: ApiRequest, session_id: str, document: Document) -> HttpResponse:
    return _document(request, _readable(request, session_id), document)


def _document(request: ApiRequest, session: AgentSession, name: str, **more: Any) -> HttpResponse:
    text = detail_documents(scratch.read_scratch(session))[f"{name}.md"]
    return _markdown(text) if _wants_markdown(request) else reply({"markdown": text, **more})


def _readable(request: ApiRequest, session_id: str) -> AgentSession:
    request.auth.require(*READERS)
    return find_session(project_id=request.auth.project_id, ref=session_id)


def _wants_markdown(request: ApiRequest) -> bool:
    return "text/markdown" in request.headers.get("Accept", "")


def _markdown(text: str) -> HttpResponse:
    return HttpResponse(text.encode("utf-8", "replace"), content_type="text/markdown; charset=utf-8")


def _json(notebook: Scratch) -> dict[str, Any]:
    return {**asdict(notebook), "artifacts": list(notebook.artifacts())}


def _dead_end_json(note: ScratchNote) -> dict[str, Any]:
    return {"id": note.pk, **note.body}
