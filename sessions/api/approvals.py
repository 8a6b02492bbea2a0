"""/approvals: what people are asked at a cap, and their answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.conf import settings
from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from budgets.services.audit import Author
from budgets.services.scopes import shown_scope_id
from kernel.http.idempotency import idempotent
from kernel.http.replies import page_of, reply, reply_cached, row_before
from kernel.http.requests import request_id_of
from kernel.http.schemas import Cursor, Limit, NanoUsd, PlainDigits, StrictSchema, usd
from sessions.models import Approval
from sessions.services import approvals
from sessions.services.approvals import Approver
from teams.auth import READERS, ApiRequest

router = Router(tags=["Money"])

DECIDERS = "approve"


class ApproveIn(StrictSchema):
    amount_usd: NanoUsd | None = Field(
        default=None, description="What the refused call needs, at least 10 % of the limit, when left out."
    )


AS_NEEDED = ApproveIn()


@router.get("/approvals", response=dict[str, Any])
def list_approvals(
    request: ApiRequest,
    limit: Limit,
    cursor: Cursor,
    state: Annotated[Literal["pending", "approved", "declined"] | None, Query(None)] = None,
) -> HttpResponse:
    """Newest first; `state=pending` shows what waits for an answer."""
    request.auth.require(*READERS, DECIDERS)
    rows = Approval.objects.of_project(request.auth.project_id).order_by("-id")
    before = row_before(rows, cursor)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    if state is not None:
        rows = rows.filter(state=state)
    page = page_of(list(rows[: limit + 1]), limit=limit, key=lambda row: str(row.pk), shape=approval_shape)
    return reply_cached(request, page)


@router.get("/approvals/{approval_id}", response=dict[str, Any])
def get_approval(
    request: ApiRequest, approval_id: str, wait: Annotated[int, PlainDigits, Query(0, ge=0, le=25)] = 0
) -> HttpResponse:
    """`wait` holds the answer up to 25 seconds until somebody has decided."""
    request.auth.require(*READERS, DECIDERS)
    approval = approvals.wait_for_decision(
        project_id=request.auth.project_id, approval_id=approval_id, seconds=wait
    )
    return reply_cached(request, approval_shape(approval))


@router.post("/approvals/{approval_id}/approve", response=dict[str, Any])
@idempotent
def approve(request: ApiRequest, approval_id: str, body: ApproveIn = AS_NEEDED) -> HttpResponse:
    """Adds the amount to the running window and resumes the waiting sessions; never with an agent's key."""
    request.auth.require(DECIDERS)
    approval = approvals.find_approval(project_id=request.auth.project_id, approval_id=approval_id)
    approval = approvals.approve(
        approval=approval, amount_nano=body.amount_usd, approver=approver_of(request)
    )
    return reply(approval_shape(approval))


@router.post("/approvals/{approval_id}/decline", response=dict[str, Any])
@idempotent
def decline(request: ApiRequest, approval_id: str) -> HttpResponse:
    """The waiting sessions wrap up, paid from the reserve inside the cap."""
    request.auth.require(DECIDERS)
    approval = approvals.find_approval(project_id=request.auth.project_id, approval_id=approval_id)
    return reply(approval_shape(approvals.decline(approval=approval, approver=approver_of(request))))


def approver_of(request: ApiRequest) -> Approver:
    author = Author(actor=request.auth.actor, request_id=request_id_of(request))
    return Approver(author=author, user_id=request.auth.user_id)


def approval_shape(approval: Approval) -> dict[str, Any]:
    return {
        "id": approval.pk,
        "state": approval.state,
        "session": approval.session_id,
        "cap": approval.cap_id,
        "limit_source": approval.scope,
        "scope_id": shown_scope_id(approval.scope, approval.scope_id),
        "period": approval.period,
        "limit_usd": usd(approval.limit_nano),
        "spent_usd": usd(approval.spent_nano),
        "reserved_usd": usd(approval.reserved_nano),
        "needed_usd": usd(approval.needed_nano),
        "resets_at": _rfc3339(approval.resets_at),
        "paused_sessions": approval.paused_sessions,
        "default": approval.default,
        "deadline": _rfc3339(approval.deadline),
        "added_usd": usd(approval.added_nano),
        "decided_by": approval.decided_by or None,
        "decided_at": _rfc3339(approval.decided_at),
        "created_at": _rfc3339(approval.created_at),
        "url": f"{settings.PUBLIC_URL}/approvals/{approval.pk}",
    }


def _rfc3339(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
