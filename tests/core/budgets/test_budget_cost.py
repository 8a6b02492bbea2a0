"""Usage and its price in integers, against exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgets.core.cost import Price, PriceTier, cost_nano_usd
from budgets.core.errors import NegativeTokens
from budgets.core.usage import TokenUsage, mean_tokens, over_budget_count, recent_mean

# $3 and $15 a million tokens, cache read $0.30, cache write $3.75 and $6.
SONNET = Price(
    price_id="sonnet",
    input_pico=3_000_000,
    output_pico=15_000_000,
    cache_read_pico=300_000,
    cache_write_5m_pico=3_750_000,
    cache_write_1h_pico=6_000_000,
    tiers=(PriceTier(above_tokens=200_000, input_pico=6_000_000, output_pico=22_500_000),),
    batch_bp=5000,
)
PLAIN = Price(price_id="plain", input_pico=1_000_000, output_pico=2_000_000)


@pytest.mark.parametrize(
    ("usage", "price", "batch", "expected"),
    [
        (TokenUsage(input_tokens=1000, output_tokens=300), SONNET, False, 7_500_000),  # 0.003 + 0.0045 USD
        (TokenUsage(cache_read_tokens=1000), SONNET, False, 300_000),  # a tenth of the input rate
        (TokenUsage(cache_write_5m_tokens=1000), SONNET, False, 3_750_000),
        (TokenUsage(cache_write_1h_tokens=1000), SONNET, False, 6_000_000),
        (
            TokenUsage(output_tokens=100, reasoning_tokens=90),
            SONNET,
            False,
            1_500_000,
        ),  # reasoning is in output
        (TokenUsage(input_tokens=1000, output_tokens=300), SONNET, True, 3_750_000),  # half price
        (TokenUsage(input_tokens=200_000), SONNET, False, 600_000_000),  # the tier begins above its edge
        (TokenUsage(input_tokens=200_001), SONNET, False, 1_200_006_000),  # then holds for all tokens
        (
            TokenUsage(input_tokens=1, cache_read_tokens=200_000),
            SONNET,
            False,
            60_006_000,
        ),  # cache is prompt too
        (TokenUsage(cache_read_tokens=10, cache_write_5m_tokens=10), PLAIN, False, 20_000),  # as plain input
        (
            TokenUsage(input_tokens=1),
            Price(price_id="p", input_pico=1, output_pico=0),
            False,
            1,
        ),  # rounded up
        (TokenUsage(), SONNET, False, 0),  # nothing costs nothing
        (TokenUsage(), None, False, None),  # unpriced is not 0, not even for nothing
        (TokenUsage(input_tokens=5), Price(price_id="p", input_pico=None, output_pico=1), False, None),
        (TokenUsage(output_tokens=5), Price(price_id="p", input_pico=None, output_pico=1000), False, 5),
    ],
)
def test_it_prices_usage_in_nano_dollars(usage, price, batch, expected):
    assert cost_nano_usd(usage, price, batch=batch) == expected


def test_each_rate_comes_from_the_highest_tier_that_names_it():
    price = Price(
        price_id="p",
        input_pico=1000,
        output_pico=1000,
        tiers=(
            PriceTier(above_tokens=10, input_pico=2000, output_pico=5000),
            PriceTier(above_tokens=20, output_pico=9000),
        ),
    )

    assert cost_nano_usd(TokenUsage(input_tokens=15, output_tokens=1), price) == 15 * 2 + 5
    assert cost_nano_usd(TokenUsage(input_tokens=30, output_tokens=1), price) == 30 * 2 + 9


def test_the_hour_cache_falls_back_to_the_five_minute_rate():
    price = Price(price_id="p", input_pico=1000, output_pico=1000, cache_write_5m_pico=1250)

    assert cost_nano_usd(TokenUsage(cache_write_1h_tokens=4), price) == 5


COUNTS = st.integers(0, 10**9)
USAGES = st.builds(
    TokenUsage,
    input_tokens=COUNTS,
    cache_read_tokens=COUNTS,
    cache_write_5m_tokens=COUNTS,
    cache_write_1h_tokens=COUNTS,
    output_tokens=COUNTS,
)
RATES = st.integers(0, 10**9)
PRICES = st.builds(
    Price,
    price_id=st.just("p"),
    input_pico=RATES,
    output_pico=RATES,
    cache_read_pico=st.none() | RATES,
    cache_write_5m_pico=st.none() | RATES,
    cache_write_1h_pico=st.none() | RATES,
    tiers=st.lists(
        st.builds(PriceTier, above_tokens=COUNTS, input_pico=RATES, output_pico=RATES), max_size=1
    ).map(tuple),
    batch_bp=st.integers(0, 10_000),
)


def oracle(usage, price, batch):
    """The same price written with exact fractions of a dollar."""
    tier = next((t for t in price.tiers if usage.prompt_tokens > t.above_tokens), None)
    plain = tier.input_pico if tier else price.input_pico
    write_5m = plain if price.cache_write_5m_pico is None else price.cache_write_5m_pico
    dollars = Fraction(1, 10**12) * (
        usage.input_tokens * plain
        + usage.cache_read_tokens * (plain if price.cache_read_pico is None else price.cache_read_pico)
        + usage.cache_write_5m_tokens * write_5m
        + usage.cache_write_1h_tokens
        * (write_5m if price.cache_write_1h_pico is None else price.cache_write_1h_pico)
        + usage.output_tokens * (tier.output_pico if tier else price.output_pico)
    )
    return ceil(dollars * (Fraction(price.batch_bp, 10_000) if batch else 1) * 10**9)


@given(USAGES, PRICES, st.booleans())
def test_integer_money_equals_exact_fractions_rounded_up_once(usage, price, batch):
    assert cost_nano_usd(usage, price, batch=batch) == oracle(usage, price, batch)


@given(USAGES, USAGES, PRICES.filter(lambda price: not price.tiers))
def test_two_entries_never_cost_less_than_their_sum_nor_a_nano_more(first, second, price):
    apart = cost_nano_usd(first, price) + cost_nano_usd(second, price)

    assert 0 <= apart - cost_nano_usd(first + second, price) <= 1


def test_prompt_tokens_are_input_cache_reads_and_both_writes():
    usage = TokenUsage(
        input_tokens=1,
        cache_read_tokens=20,
        cache_write_5m_tokens=300,
        cache_write_1h_tokens=4000,
        output_tokens=50_000,
        reasoning_tokens=40_000,
    )

    assert usage.prompt_tokens == 4321
    assert usage.total_tokens == 54_321
    assert (usage + usage).total_tokens == 108_642
    assert (usage + usage).reasoning_tokens == 80_000


def test_a_negative_counter_is_refused_by_name():
    with pytest.raises(NegativeTokens) as refusal:
        TokenUsage(cache_read_tokens=-1)

    assert refusal.value.pointer == "/cache_read_tokens"


def test_means_round_halves_up_and_need_a_history():
    assert mean_tokens([1, 2]) == 2
    assert recent_mean([100, 1, 1, 1, 1, 1]) == 1
    assert mean_tokens([]) is None
    assert recent_mean([]) is None


def test_only_strictly_more_than_the_total_is_over_budget():
    assert over_budget_count([(6400, 6400), (6401, 6400), (1, 6400)]) == 1
