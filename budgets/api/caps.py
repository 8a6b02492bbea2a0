"""/caps: what a project, a model, a key or a session may spend."""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Router
from pydantic import Field, StrictFloat, StrictInt

from budgets.api.requests import author_of
from budgets.core.basis_points import WHOLE_BP
from budgets.errors import TeamCapOverApi
from budgets.models import Cap
from budgets.services import caps
from budgets.services.caps import CapChange, CapTerms
from budgets.services.scopes import resolve_scope_id, shown_scope_id
from kernel.http.idempotency import idempotent
from kernel.http.replies import decode_cursor, page_of, reply, reply_cached
from kernel.http.requests import require_match
from kernel.http.schemas import Cursor, Limit, Name, NanoUsd, StrictSchema, usd
from teams.auth import READERS, ApiRequest

router = Router(tags=["Money"])

Ratio = Annotated[StrictInt | StrictFloat, Field(gt=0, le=1)]


class CapIn(StrictSchema):
    scope: Literal["team", "project", "model", "key", "session"]
    scope_id: Name | None = Field(None, description="Not needed for the project itself.")
    limit_usd: NanoUsd
    period: Literal["total", "hour", "day", "week", "month"] = "total"
    warn_ratio: Ratio = 0.8
    wrap_up_reserve_usd: NanoUsd | None = Field(None, description="5 % of the limit when left out.")


class CapPatch(StrictSchema):
    limit_usd: NanoUsd | None = None
    warn_ratio: Ratio | None = None
    wrap_up_reserve_usd: NanoUsd | None = None


class RaiseIn(StrictSchema):
    amount_usd: NanoUsd


@router.post("/caps", summary="Cap the spend of a scope")
@idempotent
def create_cap(request: ApiRequest, body: CapIn) -> HttpResponse:
    request.auth.require("manage")
    if body.scope == "team":
        raise TeamCapOverApi("Caps on a whole team are set in the browser, by its owners and admins.")
    project_id = request.auth.project_id
    terms = CapTerms(
        scope=body.scope,
        scope_id=resolve_scope_id(project_id=project_id, scope=body.scope, given=body.scope_id),
        period=body.period,
        limit_nano=body.limit_usd,
        warn_bp=basis_points(body.warn_ratio),
        wrap_up_reserve_nano=body.wrap_up_reserve_usd,
    )
    cap = caps.create_cap(
        team_id=request.auth.team_id, project_id=project_id, terms=terms, author=author_of(request)
    )
    return reply(cap_shape(cap), status=201, etag=cap.etag)


@router.get("/caps", summary="The caps that hold in this project")
def list_caps(request: ApiRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    request.auth.require(*READERS)
    rows = Cap.objects.of_project(request.auth.project_id).active().order_by("-id")
    before = decode_cursor(cursor)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    page = page_of(list(rows[: limit + 1]), limit=limit, key=lambda cap: str(cap.pk), shape=cap_shape)
    return reply_cached(request, page)


@router.get("/caps/{cap_id}", summary="A cap and what its running window holds")
def get_cap(request: ApiRequest, cap_id: str) -> HttpResponse:
    request.auth.require(*READERS)
    cap = caps.find_cap(project_id=request.auth.project_id, cap_id=cap_id)
    return reply(cap_shape(cap), etag=cap.etag)


@router.patch("/caps/{cap_id}", summary="Change a cap; the running window changes with it")
@idempotent
def change_cap(request: ApiRequest, cap_id: str, body: CapPatch) -> HttpResponse:
    request.auth.require("manage")
    cap = caps.find_cap(project_id=request.auth.project_id, cap_id=cap_id)
    require_match(request, cap.etag)
    change = CapChange(
        limit_nano=body.limit_usd,
        warn_bp=None if body.warn_ratio is None else basis_points(body.warn_ratio),
        wrap_up_reserve_nano=body.wrap_up_reserve_usd,
    )
    cap = caps.change_cap(cap=cap, change=change, author=author_of(request))
    return reply(cap_shape(cap), etag=cap.etag)


@router.delete("/caps/{cap_id}", summary="Let a cap hold no longer; its history stays")
def delete_cap(request: ApiRequest, cap_id: str) -> HttpResponse:
    request.auth.require("manage")
    cap = caps.find_cap(project_id=request.auth.project_id, cap_id=cap_id)
    if "If-Match" in request.headers:
        require_match(request, cap.etag)
    caps.deactivate_cap(cap=cap, author=author_of(request))
    return HttpResponse(status=204)


@router.post("/caps/{cap_id}/raise", summary="Add to the running window, or to the total for good")
@idempotent
def raise_cap(request: ApiRequest, cap_id: str, body: RaiseIn) -> HttpResponse:
    request.auth.require("manage")
    cap = caps.find_cap(project_id=request.auth.project_id, cap_id=cap_id)
    cap = caps.raise_cap(cap=cap, amount_nano=body.amount_usd, author=author_of(request))
    return reply(cap_shape(cap), etag=cap.etag)


def cap_shape(cap: Cap) -> dict[str, Any]:
    window = caps.window_view(cap)
    return {
        "id": cap.pk,
        "scope": cap.scope,
        "scope_id": shown_scope_id(cap.scope, cap.scope_id),
        "period": cap.period,
        "limit_usd": usd(cap.limit_nano),
        "warn_ratio": cap.warn_bp / WHOLE_BP,
        "wrap_up_reserve_usd": usd(cap.wrap_up_reserve_nano),
        "active": cap.active,
        "version": cap.version,
        "created_at": rfc3339(cap.created_at),
        "window": {
            "key": window.key,
            "limit_usd": usd(window.limit_nano),
            "spent_usd": usd(window.settled_nano),
            "reserved_usd": usd(window.reserved_nano),
            "remaining_usd": usd(window.remaining_nano),
            "resets_at": rfc3339(window.resets_at),
        },
    }


def basis_points(ratio: float) -> int:
    """Through its decimal spelling, so that 0.29 is 2,900 and not what a binary float makes of it."""
    return int((Decimal(str(ratio)) * WHOLE_BP).to_integral_value(ROUND_HALF_UP))


def rfc3339(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
