"""POST/GET/PATCH /sessions, its budget, pressure, sections and messages."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field, StrictStr

from kernel.http.idempotency import idempotent
from kernel.http.replies import decode_number, page_of, reply, reply_cached, row_before
from kernel.http.schemas import Cursor, Flag, Limit, Metadata, Name, PlainDigits, StrictSchema, Text, usd
from sessions.api.contents import optional_text, section_text
from sessions.models import AgentSession, Message
from sessions.services import lifecycle, pressure
from sessions.services.budget_view import budget_view
from sessions.services.frames import Frame, frame_of
from sessions.services.manifests import message_state
from sessions.services.searching import search_messages
from sessions.services.store import find_session, from_bytes
from teams.auth import READERS, ApiRequest

router = Router(tags=["Sessions"])

ExternalId = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9._:@-]{1,128}$")]


class SessionIn(StrictSchema):
    model: Name
    profile: Name | None = None
    external_id: ExternalId | None = None
    task: Text = ""
    goal: Any = None
    parent: Name | None = None
    metadata: Metadata = {}
    scratch_path: Text = ""


class SessionPatch(StrictSchema):
    model: Name | None = None
    profile: Name | None = None
    pin_revision: Flag | None = None
    goal: Any = None
    task: Text | None = None
    state: Name | None = None
    scratch_path: Text | None = None
    metadata: Metadata | None = None


class SectionIn(StrictSchema):
    content: Any


class FlagsIn(StrictSchema):
    flags: list[Name]


@router.post("/sessions", response={201: dict[str, Any]})
@idempotent
def create_session(request: ApiRequest, payload: SessionIn) -> HttpResponse:
    """Opens a session; its budget follows from the model and the profile."""
    request.auth.require("agent")
    opening = lifecycle.Opening(**{**payload.dict(), "goal": optional_text(payload.goal, "/goal")})
    session, frame = lifecycle.open_session(
        project_id=request.auth.project_id,
        key_id=request.auth.key_id,
        opening=opening,
    )
    return reply(session_json(session, frame), status=201)


@router.get("/sessions", response=dict[str, Any])
def list_sessions(
    request: ApiRequest,
    limit: Limit,
    cursor: Cursor,
    state: Annotated[str | None, Query(None)] = None,
    model: Annotated[str | None, Query(None)] = None,
    parent: Annotated[str | None, Query(None)] = None,
) -> HttpResponse:
    request.auth.require(*READERS)
    rows = AgentSession.objects.of_project(request.auth.project_id).select_related("profile")
    after = row_before(rows, cursor)
    parent_id = parent and find_session(project_id=request.auth.project_id, ref=parent).pk
    filters = {"state": state, "model": model, "parent_id": parent_id, "id__lt": after}
    rows = rows.filter(**{name: value for name, value in filters.items() if value is not None})
    page = page_of(
        list(rows.order_by("-id")[: limit + 1]), limit=limit, key=lambda row: row.pk, shape=session_row
    )
    return reply_cached(request, page)


@router.get("/sessions/{session_id}", response=dict[str, Any])
def get_session(request: ApiRequest, session_id: str) -> HttpResponse:
    session = _readable(request, session_id)
    return reply_cached(request, session_json(session, frame_of(session)))


@router.patch("/sessions/{session_id}", response=dict[str, Any])
@idempotent
def change_session(request: ApiRequest, session_id: str, payload: SessionPatch) -> HttpResponse:
    """Switches model, profile, goal, task or state; says the new budget and whether it already overflows."""
    request.auth.require("agent", "manage")
    fields = {**payload.dict(), "goal": optional_text(payload.goal, "/goal")}
    session, frame = lifecycle.change_session(
        project_id=request.auth.project_id,
        ref=session_id,
        change=lifecycle.Change(**fields),
    )
    return reply(session_json(session, frame))


@router.get("/sessions/{session_id}/budget", response=dict[str, Any])
def get_budget(request: ApiRequest, session_id: str) -> HttpResponse:
    """Both percentages, every section planned, used and available, level and flags."""
    session = _readable(request, session_id)
    return reply_cached(request, budget_view(session, frame_of(session)))


@router.put("/sessions/{session_id}/sections/{name}", response=dict[str, Any])
@idempotent
def put_section(request: ApiRequest, session_id: str, name: str, payload: SectionIn) -> HttpResponse:
    """Sets the text of a section that the agent owns: system_prompt, goal, working_state …"""
    request.auth.require("agent", "manage")
    session, frame = lifecycle.set_section(
        project_id=request.auth.project_id,
        ref=session_id,
        name=name,
        text=section_text(payload.content, "/content"),
    )
    return reply({"name": name, "budget": budget_view(session, frame)})


@router.post("/sessions/{session_id}/pressure/clear", response=dict[str, Any])
@idempotent
def clear_pressure(request: ApiRequest, session_id: str, payload: FlagsIn) -> HttpResponse:
    """Clears latched flags one by one; a flag still above its threshold latches again."""
    request.auth.require("agent", "manage")
    session, frame = pressure.clear_flags(
        project_id=request.auth.project_id, ref=session_id, flags=payload.flags
    )
    return reply(budget_view(session, frame))


@router.get("/sessions/{session_id}/messages", response=dict[str, Any])
def list_messages(
    request: ApiRequest,
    session_id: str,
    limit: Limit,
    cursor: Cursor,
    seq: Annotated[int | None, PlainDigits, Query(None, ge=1, le=2**62)] = None,
    q: Annotated[str | None, Query(None, max_length=1000)] = None,
) -> HttpResponse:
    """The originals in order, archived ones included; `q` searches them, best first."""
    session = _readable(request, session_id)
    if q is not None:
        found = search_messages(session, frame_of(session), q, limit=limit)
        return reply({"items": [message_json(row, session) for row in found], "next": None})
    after = decode_number(cursor) or 0
    rows = Message.objects.filter(session=session, seq__gt=after).order_by("seq")
    if seq is not None:
        rows = rows.filter(seq=seq)
    page = page_of(
        list(rows[: limit + 1]),
        limit=limit,
        key=lambda row: str(row.seq),
        shape=lambda row: message_json(row, session),
    )
    return reply_cached(request, page)


def message_json(row: Message, session: AgentSession) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "role": row.role,
        "message": from_bytes(row.body),
        "tokens": row.counts.get(session.tokenizer),
        "pinned": row.pinned,
        "state": message_state(session, row),
    }


def session_row(session: AgentSession) -> dict[str, Any]:
    return {
        "id": session.pk,
        "external_id": session.external_id,
        "parent": session.parent_id,
        "model": session.model,
        "profile": session.profile.name,
        "state": session.state,
        "pause_reason": session.pause_reason or None,
        "task": session.task,
        "metadata": session.metadata,
        "head_seq": session.head_seq,
        "epoch": session.epoch,
        "turns": session.turns,
        "compactions": session.compactions,
        "level": session.level,
        "spent_usd": usd(session.spent_nano),
        "created_at": session.created_at.isoformat().replace("+00:00", "Z"),
        "last_activity_at": session.last_activity_at.isoformat().replace("+00:00", "Z"),
    }


def session_json(session: AgentSession, frame: Frame) -> dict[str, Any]:
    return {**session_row(session), "budget": budget_view(session, frame)}


def _readable(request: ApiRequest, session_id: str) -> AgentSession:
    request.auth.require(*READERS)
    return find_session(project_id=request.auth.project_id, ref=session_id)
