"""Models: what the catalogue knows, what the project says instead, and prices."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from budgets.api.requests import author_of
from budgets.api.shapes import model_row, model_shape, price_row_shape
from budgets.catalogue import all_models
from budgets.core.cost import Price, PriceTier
from budgets.models import ModelOverride, ModelPrice
from budgets.services.model_changes import alias_model, override_model, set_price
from budgets.services.models import model_card, model_cards
from kernel.http.idempotency import idempotent
from kernel.http.replies import decode_cursor, page_of, reply, reply_cached
from kernel.http.requests import require_match
from kernel.http.schemas import Cursor, Limit, Moment, Name, PositiveTokens, StrictSchema
from teams.auth import READERS, ApiRequest

router = Router(tags=["Models"])

# A hundred times the dearest model of today; keeps every product of tokens and price in bounds.
MAX_USD_PER_MTOK = 100_000
_DECIMAL = re.compile(r"(?P<whole>[0-9]{1,6})(?:\.(?P<fraction>[0-9]{1,6}))?")


def _pico_per_token(text: object) -> int:
    """USD per million tokens are micro-USD per token, so six decimals are exact in pico-USD."""
    parts = _DECIMAL.fullmatch(text) if isinstance(text, str) else None
    if parts is None:
        raise PydanticCustomError(
            "invalid_money", "must be a decimal string of USD per million tokens, with at most six decimals"
        )
    pico = int(parts["whole"] + (parts["fraction"] or "").ljust(6, "0"))
    if pico > MAX_USD_PER_MTOK * 10**6:
        raise PydanticCustomError("invalid_money", "must be at most 100,000 USD per million tokens")
    return pico


UsdPerMtok = Annotated[
    int, BeforeValidator(_pico_per_token), WithJsonSchema({"type": "string", "format": "decimal"})
]
Search = Annotated[Name | None, Query(None, description="A part of the name.")]
ModelName = Annotated[Name | None, Query(None, description="Gives one model's card.")]


class OverrideIn(StrictSchema):
    name: Name
    context_window: PositiveTokens | None = None
    max_output: PositiveTokens | None = None
    latency_cap: PositiveTokens | None = None
    tokenizer: Name | None = None
    valid_from: Moment | None = None


class AliasIn(StrictSchema):
    name: Name
    alias_of: Name
    valid_from: Moment | None = None


class TierIn(StrictSchema):
    above_tokens: PositiveTokens
    input_usd_per_mtok: UsdPerMtok | None = None
    output_usd_per_mtok: UsdPerMtok | None = None
    cache_read_usd_per_mtok: UsdPerMtok | None = None
    cache_write_5m_usd_per_mtok: UsdPerMtok | None = None
    cache_write_1h_usd_per_mtok: UsdPerMtok | None = None


class PriceIn(StrictSchema):
    name: Name
    input_usd_per_mtok: UsdPerMtok
    output_usd_per_mtok: UsdPerMtok
    cache_read_usd_per_mtok: UsdPerMtok | None = None
    cache_write_5m_usd_per_mtok: UsdPerMtok | None = None
    cache_write_1h_usd_per_mtok: UsdPerMtok | None = None
    tiers: Annotated[list[TierIn], Field(max_length=10)] = Field(default_factory=list)
    valid_from: Moment | None = None


@router.get("/models", summary="Known models, or one model's card")
def list_models(
    request: ApiRequest, limit: Limit, cursor: Cursor, name: ModelName, q: Search
) -> HttpResponse:
    request.auth.require(*READERS)
    project_id = request.auth.project_id
    if name is not None:
        card = model_card(project_id=project_id, name=name)
        return reply(model_shape(card), etag=card.etag)
    names = _names(project_id, after=decode_cursor(cursor), part=(q or "").lower(), most=limit + 1)
    cards = model_cards(project_id=project_id, names=names)
    return reply_cached(request, page_of(cards, limit=limit, key=lambda card: card.name, shape=model_row))


@router.post("/models/override", summary="Say what a model is, from a moment on")
@idempotent
def override(request: ApiRequest, body: OverrideIn) -> HttpResponse:
    request.auth.require("manage")
    _require_match(request, body.name)
    override_model(
        project_id=request.auth.project_id,
        name=body.name,
        author=author_of(request),
        context_window=body.context_window,
        max_output=body.max_output,
        latency_cap=body.latency_cap,
        tokenizer=body.tokenizer or "",
        valid_from=body.valid_from,
    )
    return _card_reply(request, body.name)


@router.post("/models/alias", summary="Let a name stand for another model")
@idempotent
def alias(request: ApiRequest, body: AliasIn) -> HttpResponse:
    request.auth.require("manage")
    _require_match(request, body.name)
    alias_model(
        project_id=request.auth.project_id,
        name=body.name,
        alias_of=body.alias_of,
        author=author_of(request),
        valid_from=body.valid_from,
    )
    return _card_reply(request, body.name)


@router.get("/models/prices", summary="Prices set by the project and the operator, newest first")
def list_prices(request: ApiRequest, limit: Limit, cursor: Cursor, name: ModelName) -> HttpResponse:
    request.auth.require(*READERS)
    rows = ModelPrice.objects.for_project(request.auth.project_id).order_by("-id")
    if name is not None:
        rows = rows.filter(name=name)
    after = decode_cursor(cursor)
    if after is not None:
        rows = rows.filter(pk__lt=after)
    page = page_of(list(rows[: limit + 1]), limit=limit, key=lambda row: row.pk, shape=price_row_shape)
    return reply_cached(request, page)


@router.post("/models/prices", summary="Set a model's price, from a moment on")
@idempotent
def add_price(request: ApiRequest, body: PriceIn) -> HttpResponse:
    request.auth.require("manage")
    row = set_price(
        project_id=request.auth.project_id,
        name=body.name,
        price=Price(
            price_id="",
            tiers=tuple(PriceTier(above_tokens=tier.above_tokens, **_rates(tier)) for tier in body.tiers),
            **_rates(body),
        ),
        author=author_of(request),
        valid_from=body.valid_from,
    )
    return reply(price_row_shape(row), status=201)


def _rates(priced: PriceIn | TierIn) -> dict[str, Any]:
    rates = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
    return {f"{rate}_pico": getattr(priced, f"{rate}_usd_per_mtok") for rate in rates}


def _card_reply(request: ApiRequest, name: str) -> HttpResponse:
    card = model_card(project_id=request.auth.project_id, name=name)
    return reply(model_shape(card), status=201, etag=card.etag)


def _require_match(request: ApiRequest, name: str) -> None:
    """The first word about a model needs no version; a later one says which it replaces."""
    card = model_card(project_id=request.auth.project_id, name=name)
    said_before = any(row.project_id and row.name == name for row in card.overrides)
    if said_before or "If-Match" in request.headers:
        require_match(request, card.etag)


def _names(project_id: str, *, after: str | None, part: str, most: int) -> list[str]:
    own = ModelOverride.objects.for_project(project_id).values_list("name", flat=True).distinct()
    names = sorted(_catalogue_names().union(own))
    wanted = (name for name in names if part in name.lower() and (after is None or name > after))
    return [name for name, _ in zip(wanted, range(most), strict=False)]


@cache
def _catalogue_names() -> frozenset[str]:
    return frozenset(facts.name for facts in all_models())
