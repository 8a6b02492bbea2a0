"""Checkpoints of a session: write, read, compare, restore."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from kernel.http.idempotency import idempotent
from kernel.http.replies import page_of, reply, reply_cached, row_before
from kernel.http.schemas import Cursor, Flag, Limit, Name, StrictSchema
from sessions.api.sessions import ExternalId
from sessions.services import checkpoints, forks, restores
from sessions.services.checkpoint_diffs import diff_checkpoints
from sessions.services.store import find_session
from teams.auth import READERS, ApiRequest

router = Router(tags=["Checkpoints"])


Reason = Annotated[Name, Field(max_length=60)]


class CheckpointIn(StrictSchema):
    epic: Name | None = None
    story: Name | None = None
    phase: Name | None = None
    task: Name | None = None
    commit: Name | None = None
    reason: Reason = "by hand"
    clear: Flag = False


class RestoreIn(StrictSchema):
    mode: Literal["head", "items", "fork"] = "head"
    items: list[Name] = []
    external_id: ExternalId | None = None
    dry_run: Flag = False


@router.get("/sessions/{session_id}/checkpoints", response=dict[str, Any])
def list_checkpoints(request: ApiRequest, session_id: str, limit: Limit, cursor: Cursor) -> HttpResponse:
    session = _readable(request, session_id)
    rows = session.checkpoints.order_by("-id")
    after = row_before(rows, cursor)
    if after is not None:
        rows = rows.filter(pk__lt=after)
    page = page_of(
        list(rows[: limit + 1]), limit=limit, key=lambda row: row.pk, shape=checkpoints.checkpoint_json
    )
    return reply_cached(request, page)


@router.post("/sessions/{session_id}/checkpoints", response={201: dict[str, Any]})
@idempotent
def create_checkpoint(request: ApiRequest, session_id: str, payload: CheckpointIn) -> HttpResponse:
    """Writes a checkpoint; with `clear`, runs the whole clear sequence."""
    request.auth.require("agent", "manage")
    row = checkpoints.save_checkpoint(
        project_id=request.auth.project_id,
        ref=session_id,
        where=payload.dict(),
        reason=payload.reason,
        clear=payload.clear,
    )
    return reply(checkpoints.checkpoint_json(row), status=201)


@router.get("/sessions/{session_id}/checkpoints/{number}", response=dict[str, Any])
def get_checkpoint(request: ApiRequest, session_id: str, number: str) -> HttpResponse:
    row = checkpoints.find_checkpoint(_readable(request, session_id), number)
    return reply_cached(request, checkpoints.checkpoint_json(row, full=True))


@router.get("/sessions/{session_id}/checkpoints/{number}/diff", response=dict[str, Any])
def diff(
    request: ApiRequest, session_id: str, number: str, against: Annotated[str, Query(max_length=60)]
) -> HttpResponse:
    """What changed from `number` to `against`."""
    session = _readable(request, session_id)
    before = checkpoints.find_checkpoint(session, number)
    after = checkpoints.find_checkpoint(session, against)
    return reply_cached(request, diff_checkpoints(session, before, after))


@router.post("/sessions/{session_id}/checkpoints/{number}/restore", response=dict[str, Any])
@idempotent
def restore(request: ApiRequest, session_id: str, number: str, payload: RestoreIn) -> HttpResponse:
    """Head, chosen items, or a fork; a dry run only says whether it fits. Undo by restoring `undo`."""
    request.auth.require("agent", "manage")
    target = {"project_id": request.auth.project_id, "ref": session_id, "checkpoint_ref": number}
    if payload.dry_run:
        return reply(restores.preview_restore(**target))
    if payload.mode == "fork":
        session, frame = forks.fork(**target, external_id=payload.external_id)
        return reply(restores.restore_json(session, frame, None), status=201)
    if payload.mode == "items":
        session, frame, undo = restores.restore_items(**target, items=set(payload.items))
    else:
        session, frame, undo = restores.restore_head(**target)
    return reply(restores.restore_json(session, frame, undo))


def _readable(request: ApiRequest, session_id: str) -> Any:
    request.auth.require(*READERS)
    return find_session(project_id=request.auth.project_id, ref=session_id)
