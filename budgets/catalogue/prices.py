"""Prices from genai-prices' bundled table, as integers; an unknown price is None, never 0."""

from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from functools import cache, lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from budgets.catalogue.facts import TABLE, find_model
from budgets.catalogue.names import LONGEST_NAME, MAKERS, NameIndex
from budgets.core.cost import Price, PriceTier

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

    Listed = tuple[str, ModelInfo]

# Dollars per million tokens are micro-dollars per token.
PICO_PER_MICRO = 1_000_000
FULL_BP = 10_000
# A tuned model costs more than the one it was made from, so its name must not fall back to that.
FINE_TUNED = "ft:"
# Our rate, and the table's keys for it: the first that is there counts.
RATE_KEYS = {
    "input_pico": ("input_mtok",),
    "output_pico": ("output_mtok",),
    "cache_read_pico": ("cache_read_mtok",),
    "cache_write_5m_pico": ("cache_write_5m_mtok", "cache_write_mtok"),
    "cache_write_1h_pico": ("cache_write_1h_mtok",),
}

Rates = dict[str, int | None]


def catalogue_price(name: str, at: datetime) -> Price | None:
    """What a model cost at that moment; None for an unknown model or one that is not priced by tokens."""
    if len(name) > LONGEST_NAME:
        return None
    # No price of the table begins inside a minute, so a minute's calls share one answer.
    return _price(name, at.astimezone(UTC).replace(second=0, microsecond=0))


@lru_cache(maxsize=4_096)
def _price(name: str, at: datetime) -> Price | None:
    listed = _listed(name)
    if listed is None:
        return None
    provider, model = listed
    prices = model.get_prices(at)
    base = _rates(prices, prompt_tokens=0)
    if base["input_pico"] is None:
        return None
    return Price(
        price_id=f"{provider}/{model.id}{_since(model, at)} @ {_release()}",
        tiers=tuple(PriceTier(above_tokens=start, **_rates(prices, start + 1)) for start in _starts(prices)),
        batch_bp=_batch_bp(base, _rates(model.get_prices(at, {"processing": "batch"}), prompt_tokens=0)),
        **base,
    )


@cache
def _release() -> str:
    return f"{TABLE} {version(TABLE)}"


@lru_cache(maxsize=4_096)
def _listed(name: str) -> "Listed | None":
    """By our rules for names, then by the table's own patterns, which know a few odd releases more."""
    from budgets.catalogue.table import matching_model

    if name.lower().startswith(FINE_TUNED):
        return matching_model(name, "openai")
    facts = find_model(name)
    index = _index()
    found = index.find(f"{facts.provider}/{facts.name}") if facts else None
    return found or index.find(name) or matching_model(name)


@cache
def _index() -> "NameIndex[Listed]":
    # Read on first use: the table takes 20 MB and 0.2 s, and a process that only counts needs none of it.
    from budgets.catalogue.table import aliases_of, table_models

    index: NameIndex[Listed] = NameIndex()
    for provider, model in table_models():
        add = index.add_maker if provider in MAKERS else index.add_host
        add((provider, model), provider, model.id, aliases_of(model))
    return index


def _since(model: "ModelInfo", at: datetime) -> str:
    """The first day of a dated price, so that ids of one model's successive prices differ."""
    dated = model.prices if isinstance(model.prices, list) else []
    days = [getattr(price.constraint, "start_date", None) for price in dated if price.constraint]
    begun = [day for day in days if day and day <= at.date()]
    return f" from {max(begun)}" if begun else ""


def _rates(prices: "ModelPrice", prompt_tokens: int) -> Rates:
    return {rate: _rate(prices, keys, prompt_tokens) for rate, keys in RATE_KEYS.items()}


def _rate(prices: "ModelPrice", keys: tuple[str, ...], prompt_tokens: int) -> int | None:
    listed = next((price for key in keys if (price := getattr(prices, key)) is not None), None)
    if listed is None:
        return None
    if isinstance(listed, Decimal):
        return _pico(listed)
    reached = [tier.price for tier in listed.tiers if prompt_tokens > tier.start]
    return _pico(reached[-1] if reached else listed.base)


def _starts(prices: "ModelPrice") -> list[int]:
    """Where a tier begins, for any of the rates; a rate without tiers keeps its base there."""
    listed = (getattr(prices, key) for keys in RATE_KEYS.values() for key in keys)
    return sorted({tier.start for price in listed for tier in getattr(price, "tiers", ())})


def _batch_bp(base: Rates, batch: Rates) -> int:
    """The batch discount, by the dearer of input and output."""
    shares = [
        -(-batch_rate * FULL_BP // base_rate)
        for rate in ("input_pico", "output_pico")
        if (base_rate := base[rate]) and (batch_rate := batch[rate]) is not None
    ]
    return max(shares, default=FULL_BP)


def _pico(dollars_per_million: Decimal) -> int:
    # A few rows carry float dust (0.18000000000000002); a price is never rounded down.
    return int((dollars_per_million * PICO_PER_MICRO).to_integral_value(ROUND_CEILING))
