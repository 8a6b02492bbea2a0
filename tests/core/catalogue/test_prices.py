"""Prices: integers from the bundled table, equal to the table's own arithmetic; None where it has none."""

from datetime import UTC, datetime

import pytest
from genai_prices import Usage, calc_price

from budgets.catalogue import all_models, catalogue_price
from budgets.core.cost import cost_nano_usd
from budgets.core.usage import TokenUsage

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def test_dollars_per_million_become_pico_dollars_per_token() -> None:
    price = catalogue_price("gpt-4o", NOW)
    assert price is not None
    assert (price.input_pico, price.output_pico, price.cache_read_pico) == (2_500_000, 10_000_000, 1_250_000)
    assert price.price_id.startswith("openai/gpt-4o @ genai-prices ")


@pytest.mark.parametrize("name", ["nonsense", "", "a" * 9_999, "zai-glm-4.6", "whisper-1"])
def test_an_unknown_price_is_none(name: str) -> None:
    assert catalogue_price(name, NOW) is None


# model, prompt tokens below and above its price tiers
PRICED = [
    ("gpt-4o", 1_000),
    ("gpt-5.4", 271_999),
    ("gpt-5.4", 272_001),
    ("claude-sonnet-4-5", 200_000),
    ("claude-sonnet-4-5", 200_001),
    ("claude-opus-5", 999_000),
    ("gemini-2.5-pro", 199_000),
    ("gemini-2.5-pro", 201_000),
    ("deepseek-chat", 5_000),
    ("qwen/qwen3-coder-flash", 31_000),
    ("qwen/qwen3-coder-flash", 127_000),
    ("qwen/qwen3-coder-flash", 129_000),
]


@pytest.mark.parametrize(("name", "prompt"), PRICED)
def test_a_call_costs_what_the_tables_own_arithmetic_says(name: str, prompt: int) -> None:
    read = prompt // 3
    theirs = calc_price(
        Usage(input_tokens=prompt, cache_read_tokens=read, output_tokens=700),
        name.rpartition("/")[2] if "/" not in name else name,
        provider_id="openrouter" if "/" in name else None,
        genai_request_timestamp=NOW,
    )
    usage = TokenUsage(input_tokens=prompt - read, cache_read_tokens=read, output_tokens=700)
    ours = cost_nano_usd(usage, catalogue_price(name, NOW))
    assert ours is not None
    assert 0 <= ours - theirs.total_price * 1_000_000_000 < 1


def test_cache_writes_are_priced_by_their_lifetime() -> None:
    price = catalogue_price("claude-opus-5", NOW)
    assert price is not None
    assert (price.cache_write_5m_pico, price.cache_write_1h_pico) == (6_250_000, 10_000_000)


def test_a_price_is_the_one_of_its_moment() -> None:
    night, day = (catalogue_price("deepseek-chat", NOW.replace(hour=hour)) for hour in (20, 12))
    assert night is not None
    assert day is not None
    assert night.input_pico is not None
    assert day.input_pico == 2 * night.input_pico


def test_successive_prices_have_different_ids() -> None:
    ids = {
        price.price_id
        for year in (2024, 2025, 2026)
        if (price := catalogue_price("gpt-5.6-sol", NOW.replace(year=year)))
    }
    assert len(ids) > 1


def test_a_batch_is_discounted_where_the_table_says_so() -> None:
    discounted, plain = catalogue_price("claude-opus-5", NOW), catalogue_price("claude-3-opus", NOW)
    assert discounted is not None
    assert plain is not None
    assert (discounted.batch_bp, plain.batch_bp) == (5_000, 10_000)


def test_a_tuned_model_is_not_priced_as_the_one_it_was_made_from() -> None:
    tuned, base = (catalogue_price(name, NOW) for name in ("ft:gpt-4o-2024-08-06:acme::abc", "gpt-4o"))
    assert tuned is not None
    assert base is not None
    assert tuned.input_pico is not None
    assert base.input_pico is not None
    assert tuned.input_pico > base.input_pico


def test_every_catalogue_row_has_a_price_in_whole_numbers_or_none() -> None:
    for facts in all_models():
        price = catalogue_price(f"{facts.provider}/{facts.name}", NOW)
        if price is not None:
            rates = (price.input_pico, price.output_pico, price.cache_read_pico, price.cache_write_5m_pico)
            assert all(rate is None or (type(rate) is int and rate >= 0) for rate in rates), facts
