"""POST /sessions/{id}/context: what to send next; GET …/assemblies: the stored proofs."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpResponse
from ninja import Router

from kernel.errors import NotFound, ProblemError
from kernel.http.idempotency import idempotent
from kernel.http.problems import problem_response
from kernel.http.replies import number_or_id, page_of, reply, reply_cached, row_before
from kernel.http.schemas import Cursor, Flag, Limit, Name, PositiveTokens, StrictSchema, Tokens
from sessions.api.contents import content_text, section_text
from sessions.api.holds import placed_shape
from sessions.models import Assembly
from sessions.services.contexts import ContextWish, next_context
from sessions.services.holds import HoldWish, place_hold
from sessions.services.store import find_session
from teams.auth import READERS, ApiRequest

router = Router(tags=["Sessions"])


class ContextIn(StrictSchema):
    query: Any = ""
    mode: Name | None = None
    max_output: Tokens | None = None
    sections: dict[str, Any] = {}
    format: Literal["openai", "anthropic", "plain"] = "openai"
    budget_tokens: PositiveTokens | None = None
    reserve: Flag = False
    sticky: Flag = True


@router.post("/sessions/{session_id}/context", response=dict[str, Any])
@idempotent
def post_context(request: ApiRequest, session_id: str, payload: ContextIn) -> HttpResponse:
    """The messages to send now and the proof that they fit; 413 when they cannot."""
    request.auth.require("agent")
    wish = ContextWish(
        query=content_text(payload.query, "/query"),
        mode=payload.mode,
        max_output=payload.max_output,
        sections={name: section_text(text, f"/sections/{name}") for name, text in payload.sections.items()},
        format=payload.format,
        budget_tokens=payload.budget_tokens,
        sticky=payload.sticky,
    )
    context = next_context(project_id=request.auth.project_id, ref=session_id, wish=wish)
    if isinstance(context, ProblemError):
        return problem_response(request, context)
    if not payload.reserve:
        return reply(context)
    return _with_hold(request, session_id, context, payload.max_output)


def _with_hold(
    request: ApiRequest, session_id: str, context: dict[str, Any], max_output: int | None
) -> HttpResponse:
    """Assembling and reserving in one call: the hold covers what was assembled."""
    wish = HoldWish(input_tokens=context["report"]["tokens"], output_tokens=max_output)
    placed = place_hold(
        project_id=request.auth.project_id, ref=session_id, key_id=request.auth.key_id, wish=wish
    )
    if isinstance(placed, ProblemError):
        return problem_response(request, placed)
    return reply({**context, "hold": placed_shape(placed)})


@router.get("/sessions/{session_id}/assemblies", response=dict[str, Any])
def list_assemblies(request: ApiRequest, session_id: str, limit: Limit, cursor: Cursor) -> HttpResponse:
    request.auth.require(*READERS)
    session = find_session(project_id=request.auth.project_id, ref=session_id)
    rows = Assembly.objects.filter(session=session).order_by("-id")
    after = row_before(rows, cursor)
    if after is not None:
        rows = rows.filter(pk__lt=after)
    page = page_of(list(rows[: limit + 1]), limit=limit, key=lambda row: row.pk, shape=assembly_json)
    return reply_cached(request, page)


@router.get("/sessions/{session_id}/assemblies/{number}", response=dict[str, Any])
def get_assembly(request: ApiRequest, session_id: str, number: str) -> HttpResponse:
    """By number or id."""
    request.auth.require(*READERS)
    session = find_session(project_id=request.auth.project_id, ref=session_id)
    row = Assembly.objects.filter(session=session, **number_or_id(number)).first()
    if row is None:
        raise NotFound()
    return reply_cached(request, assembly_json(row))


def assembly_json(row: Assembly) -> dict[str, Any]:
    return {
        "id": row.pk,
        "number": row.number,
        "epoch": row.epoch,
        "model": row.model,
        "report": row.report,
        "created_at": row.created_at.isoformat().replace("+00:00", "Z"),
    }
