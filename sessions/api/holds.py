"""Money of a session: POST /sessions/{id}/holds, then settle, void or extend the hold."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Router
from pydantic import Field, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from budgets.models import Hold
from budgets.services import holds
from budgets.services.holds import Actual
from kernel.errors import FieldProblem, Invalid, ProblemError
from kernel.http.idempotency import idempotent
from kernel.http.problems import problem_response
from kernel.http.replies import reply
from kernel.http.schemas import Flag, Name, NanoUsd, StrictSchema, Tokens, usd
from providers.usage import usage_from
from sessions.services.holds import HoldWish, Placed, place_hold, settle_hold
from teams.auth import READERS, ApiRequest

router = Router(tags=["Money"])

Seconds = Annotated[StrictInt, Field(ge=1, le=86_400)]
DEFAULT_TTL_S = int(holds.DEFAULT_TTL.total_seconds())


class EstimateIn(StrictSchema):
    input: Tokens | None = None
    output: Tokens | None = Field(None, description="The session's moving average when left out.")
    cost_usd: NanoUsd | None = None

    @model_validator(mode="after")
    def _one_way(self) -> EstimateIn:
        tokens = self.input is not None or self.output is not None
        if tokens == (self.cost_usd is not None):
            raise PydanticCustomError("one_of", "give tokens or cost_usd, one of them")
        return self


class HoldIn(StrictSchema):
    estimate: EstimateIn
    model: Name | None = Field(None, description="The session's model when left out.")
    ttl_s: Seconds = DEFAULT_TTL_S
    dry_run: Flag = False


class SettleIn(StrictSchema):
    usage: dict[str, Any] | None = Field(None, description="As the provider reports it.")
    cost_usd: NanoUsd | None = None
    response_id: Name | None = Field(None, description="A usage event with the same id counts once with it.")

    @model_validator(mode="after")
    def _something(self) -> SettleIn:
        if self.usage is None and self.cost_usd is None:
            raise PydanticCustomError("one_of", "give usage or cost_usd")
        return self


class ExtendIn(StrictSchema):
    ttl_s: Seconds = DEFAULT_TTL_S


@router.post("/sessions/{session_id}/holds", response={201: dict[str, Any]})
@idempotent
def create_hold(request: ApiRequest, session_id: str, body: HoldIn) -> HttpResponse:
    """Sets money aside for the next call: 402 when the cap is spent, 429 when open holds fill it."""
    request.auth.require("agent")
    wish = HoldWish(
        input_tokens=body.estimate.input or 0,
        output_tokens=body.estimate.output,
        cost_nano=body.estimate.cost_usd,
        model=body.model,
        ttl=timedelta(seconds=body.ttl_s),
        dry_run=body.dry_run,
    )
    placed = place_hold(
        project_id=request.auth.project_id, ref=session_id, key_id=request.auth.key_id, wish=wish
    )
    if isinstance(placed, ProblemError):
        return problem_response(request, placed)
    if body.dry_run:
        return reply({**placed_shape(placed), "id": None, "dry_run": True, "admitted": True})
    return reply(placed_shape(placed), status=201)


@router.get("/holds/{hold_id}", response=dict[str, Any])
def get_hold(request: ApiRequest, hold_id: str) -> HttpResponse:
    request.auth.require(*READERS)
    return reply(hold_shape(holds.find_hold(project_id=request.auth.project_id, hold_id=hold_id)))


@router.post("/holds/{hold_id}/settle", response=dict[str, Any])
@idempotent
def settle(request: ApiRequest, hold_id: str, body: SettleIn) -> HttpResponse:
    """What the call really used; late is still recorded, twice gives the same answer."""
    request.auth.require("agent")
    actual = Actual(
        usage=None if body.usage is None else _usage(body.usage),
        cost_nano=body.cost_usd,
        response_id=body.response_id or "",
    )
    hold = settle_hold(project_id=request.auth.project_id, hold_id=hold_id, actual=actual)
    return reply(hold_shape(hold))


@router.post("/holds/{hold_id}/void", response=dict[str, Any])
@idempotent
def void(request: ApiRequest, hold_id: str) -> HttpResponse:
    """The call was not made: the money is free again."""
    request.auth.require("agent")
    return reply(hold_shape(holds.void(project_id=request.auth.project_id, hold_id=hold_id)))


@router.post("/holds/{hold_id}/extend", response=dict[str, Any])
@idempotent
def extend(request: ApiRequest, hold_id: str, body: ExtendIn | None = None) -> HttpResponse:
    """The call takes longer: the hold stays open for ttl_s from now."""
    request.auth.require("agent")
    ttl = timedelta(seconds=body.ttl_s if body else DEFAULT_TTL_S)
    return reply(hold_shape(holds.extend(project_id=request.auth.project_id, hold_id=hold_id, ttl=ttl)))


def placed_shape(placed: Placed) -> dict[str, Any]:
    estimate = placed.estimate
    return {
        **hold_shape(placed.admission.hold),
        "remaining_usd": usd(placed.admission.remaining_nano),
        "estimate": {
            "input": estimate.input_tokens,
            "output": estimate.output_tokens,
            "basis": estimate.basis,
        },
    }


def hold_shape(hold: Hold) -> dict[str, Any]:
    return {
        "id": hold.pk,
        "session": hold.session_id,
        "model": hold.model,
        "state": hold.state,
        "amount_usd": usd(hold.amount_nano),
        "unpriced": hold.unpriced,
        "wrap_up": hold.wrap_up,
        "created_at": hold.created_at.isoformat().replace("+00:00", "Z"),
        "expires_at": hold.expires_at.isoformat().replace("+00:00", "Z"),
        "cost_usd": usd(hold.cost_nano),
        "overrun_usd": usd(hold.overrun_nano),
        "late": hold.late,
    }


def _usage(payload: dict[str, Any]) -> Any:
    usage = usage_from(payload, pointer="/usage")
    if usage is None:
        field = FieldProblem(pointer="/usage", detail="holds no token counts that we know")
        raise Invalid("That usage has no token counts that we know.", errors=(field,))
    return usage
