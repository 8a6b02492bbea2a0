"""Compaction pays back when the cheaper turns outweigh writing the new prefix."""

from __future__ import annotations

import pytest

from budgets.core.cost import Price
from budgets.core.payback import payback

# 3 dollars a million in, 0.30 to read and 3.75 to write the cache, in pico-USD per token
PRICE = Price(
    price_id="p",
    input_pico=3_000_000,
    output_pico=15_000_000,
    cache_read_pico=300_000,
    cache_write_5m_pico=3_750_000,
)


@pytest.mark.parametrize(
    ("before", "after", "cost", "saves", "turns"),
    [
        # 20,000 tokens written instead of read: 0.069 dollars; 80,000 fewer read: 0.024 a turn
        (100_000, 20_000, 69_000_000, 24_000_000, 3),
        # nothing shrinks: it never pays
        (20_000, 20_000, 69_000_000, 0, None),
        # everything goes: it pays at once
        (100_000, 0, 0, 30_000_000, 0),
    ],
)
def test_it_counts_the_turns(before: int, after: int, cost: int, saves: int, turns: int | None) -> None:
    found = payback(PRICE, before_tokens=before, after_tokens=after)
    assert found is not None
    assert (found.cost_nano, found.saves_per_turn_nano, found.turns) == (cost, saves, turns)


def test_the_summariser_is_paid_as_well() -> None:
    found = payback(PRICE, before_tokens=100_000, after_tokens=20_000, summariser_nano=300_000_000)
    assert found is not None and found.turns == 16


def test_an_unpriced_model_has_no_payback() -> None:
    assert payback(None, before_tokens=10, after_tokens=1) is None
