"""Pure calculations: budgets without a session."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Router
from pydantic import BeforeValidator, Field, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from budgets.api.answers import AvailableOut, BudgetOut, ComparisonOut, ProblemOut, TableOut
from budgets.api.shapes import budget_shape, compared_shape, table_shape, window_shape
from budgets.core.ratios import TOTAL, adjust_budget, available
from budgets.services.calculations import Wanted, calculate, compare
from budgets.services.profiles import policy_source
from kernel.http.replies import reply
from kernel.http.schemas import Name, PositiveTokens, StrictSchema, Tokens
from teams.auth import READERS, ApiRequest

router = Router(tags=["Pure calculations"])

MAX_SECTIONS = 64
MAX_MODELS = 200
ANSWER_FIELDS = {
    "total",
    "sections",
    "unallocated",
    "window",
    "scaffold_tokens",
    "duplicated_tokens",
    "shortfall",
    "words",
}


def _flat(table: Any) -> Any:
    """A flat table as it is; an answer of `calculate` as its sections with the total beside them."""
    if not isinstance(table, dict) or not isinstance(table.get("sections"), dict):
        return table
    unknown = sorted(set(table) - ANSWER_FIELDS)
    if unknown:
        raise PydanticCustomError("extra_forbidden", "unknown field {field}", {"field": unknown[0]})
    total = {TOTAL: table[TOTAL]} if TOTAL in table else {}
    return {**table["sections"], **total}


SectionTokens = Annotated[dict[Name, Tokens], Field(max_length=MAX_SECTIONS + 1)]
TokenTable = Annotated[SectionTokens, BeforeValidator(_flat)]
SharesBp = Annotated[dict[Name, StrictInt], Field(min_length=1, max_length=MAX_SECTIONS)]


class CalculateIn(StrictSchema):
    model: Name | None = None
    context_window: PositiveTokens | None = None
    total: Tokens | None = None
    profile: Name | None = None
    shares: SharesBp | None = Field(None, description="Basis points per section; 10,000 is the whole.")
    mode: Name | None = None
    max_output: Tokens | None = None
    measured: SectionTokens = Field(default_factory=dict, description="Tokens of sections that are measured.")

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> CalculateIn:
        given = [name for name in ("model", "context_window", "total") if getattr(self, name) is not None]
        if len(given) != 1:
            raise PydanticCustomError("one_of", "give exactly one of model, context_window and total")
        if self.profile is not None and self.shares is not None:
            raise PydanticCustomError("one_of", "give a profile or shares, not both")
        if self.total is not None and (self.mode is not None or self.max_output is not None):
            raise PydanticCustomError("one_of", "mode and max_output need a model or a context_window")
        return self


class AdjustIn(StrictSchema):
    budget: TokenTable
    new_total: Tokens


class AvailableIn(StrictSchema):
    budget: TokenTable
    used: TokenTable


class CompareIn(StrictSchema):
    profile: Name | None = None
    models: Annotated[list[Name], Field(min_length=1, max_length=MAX_MODELS)]
    mode: Name | None = None
    measured: SectionTokens = Field(default_factory=dict)


@router.post(
    "/budgets/calculate",
    response={200: BudgetOut, 422: ProblemOut},
    summary="Tokens per section for a model, a window or a total",
)
def calculate_budget(request: ApiRequest, body: CalculateIn) -> HttpResponse:
    request.auth.require(*READERS)
    wanted = Wanted(
        model=body.model,
        context_window=body.context_window,
        total=body.total,
        profile=body.profile,
        shares_bp=body.shares,
        mode=body.mode,
        max_output=body.max_output,
        measured=body.measured,
    )
    calculated = calculate(project_id=request.auth.project_id, wanted=wanted)
    window = calculated.window
    shape = window_shape(window.budget, window.source) if window else None
    return reply(budget_shape(calculated.allocation, shape))


@router.post(
    "/budgets/adjust", response={200: TableOut, 422: ProblemOut}, summary="Scale a budget to another total"
)
def adjust(request: ApiRequest, body: AdjustIn) -> HttpResponse:
    request.auth.require(*READERS)
    scaled = adjust_budget(body.budget, body.new_total)
    return reply(table_shape(scaled.pop(TOTAL), scaled))


@router.post(
    "/budgets/available",
    response={200: AvailableOut, 422: ProblemOut},
    summary="What is left of a budget, per section",
)
def available_tokens(request: ApiRequest, body: AvailableIn) -> HttpResponse:
    request.auth.require(*READERS)
    left = available(body.budget, body.used)
    return reply({"total": left.total, "sections": dict(left.sections), "over": left.over})


@router.post(
    "/budgets/compare",
    response={200: ComparisonOut, 422: ProblemOut},
    summary="One profile over many models, side by side",
)
def compare_budgets(request: ApiRequest, body: CompareIn) -> HttpResponse:
    request.auth.require(*READERS)
    project_id = request.auth.project_id
    source = policy_source(project_id=project_id, ref=body.profile)
    rows = compare(
        project_id=project_id,
        policy=source.policy,
        models=body.models,
        mode=body.mode,
        measured=body.measured,
    )
    return reply({"profile": source.name, "models": [compared_shape(row) for row in rows]})
