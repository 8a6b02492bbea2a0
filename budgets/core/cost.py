"""What usage costs, in integers: pico-USD a token, nano-USD an amount, rounded up once per entry."""

from __future__ import annotations

from dataclasses import dataclass

from budgets.core.basis_points import WHOLE_BP
from budgets.core.usage import TokenUsage

PICO_PER_NANO = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTier:
    """Rates for the whole call once its prompt is larger than `above_tokens`; None keeps the rate below."""

    above_tokens: int
    input_pico: int | None = None
    output_pico: int | None = None
    cache_read_pico: int | None = None
    cache_write_5m_pico: int | None = None
    cache_write_1h_pico: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A missing cache rate falls back: 1 h to 5 min, both and the read rate to the input rate."""

    price_id: str
    input_pico: int | None
    output_pico: int | None
    cache_read_pico: int | None = None
    cache_write_5m_pico: int | None = None
    cache_write_1h_pico: int | None = None
    tiers: tuple[PriceTier, ...] = ()
    batch_bp: int = WHOLE_BP


def cost_nano_usd(usage: TokenUsage, price: Price | None, batch: bool = False) -> int | None:
    """None when any token of the usage has no known price: unpriced is never 0."""
    if price is None:
        return None
    rates = _rates(price, usage.prompt_tokens)
    counts = (
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_5m_tokens,
        usage.cache_write_1h_tokens,
        usage.output_tokens,
    )
    pico = 0
    for tokens, rate in zip(counts, rates, strict=True):
        if tokens and rate is None:
            return None
        pico += tokens * (rate or 0)
    share = price.batch_bp if batch else WHOLE_BP
    return -(-pico * share // (PICO_PER_NANO * WHOLE_BP))


def _rates(price: Price, prompt_tokens: int) -> tuple[int | None, ...]:
    """Input, cache read, cache write 5 min, cache write 1 h, output."""
    tiers = _reached(price, prompt_tokens)
    plain = _first(*(tier.input_pico for tier in tiers), price.input_pico)
    read = _first(*(tier.cache_read_pico for tier in tiers), price.cache_read_pico, plain)
    write_5m = _first(*(tier.cache_write_5m_pico for tier in tiers), price.cache_write_5m_pico, plain)
    write_1h = _first(*(tier.cache_write_1h_pico for tier in tiers), price.cache_write_1h_pico, write_5m)
    output = _first(*(tier.output_pico for tier in tiers), price.output_pico)
    return plain, read, write_5m, write_1h, output


def _reached(price: Price, prompt_tokens: int) -> list[PriceTier]:
    """The highest tier first."""
    reached = (tier for tier in price.tiers if prompt_tokens > tier.above_tokens)
    return sorted(reached, key=lambda tier: -tier.above_tokens)


def _first(*rates: int | None) -> int | None:
    return next((rate for rate in rates if rate is not None), None)
