"""P5: integer money equals a Decimal oracle, rounded up once per entry, and no float touches money."""

from __future__ import annotations

import ast
from decimal import ROUND_CEILING, Decimal, localcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgets.core.caps import default_reserve
from budgets.core.cost import Price, cost_nano_usd
from budgets.core.usage import TokenUsage
from kernel.http.schemas import usd
from tests.proofs.racing import FULL

EXAMPLES = 10_000 if FULL else 300
ROOT = Path(__file__).resolve().parents[2]
MONEY_MODULES = [
    "budgets/core/caps.py",
    "budgets/core/cost.py",
    "budgets/core/periods.py",
    "budgets/services/admission_sql.py",
    "budgets/services/caps.py",
    "budgets/services/entries.py",
    "budgets/services/holds.py",
    "budgets/services/ledger.py",
    "budgets/services/postings.py",
    "budgets/services/pricing.py",
    "budgets/services/reconcile.py",
    "sessions/services/approvals.py",
    "sessions/services/holds.py",
    "sessions/services/pauses.py",
    "sessions/services/spending.py",
    "sessions/services/spent_turns.py",
]

tokens = st.integers(0, 10**12)
rates = st.integers(0, 10**9)
usages = st.builds(
    TokenUsage,
    input_tokens=tokens,
    cache_read_tokens=tokens,
    cache_write_5m_tokens=tokens,
    cache_write_1h_tokens=tokens,
    output_tokens=tokens,
)
prices = st.builds(
    Price,
    price_id=st.just("p"),
    input_pico=rates,
    output_pico=rates,
    cache_read_pico=rates,
    cache_write_5m_pico=rates,
    cache_write_1h_pico=rates,
    batch_bp=st.integers(0, 10_000),
)


def oracle_nano(usage: TokenUsage, price: Price, *, batch: bool) -> int:
    """Dollars as exact decimals from the first to the last step, and one rounding."""
    pairs = [
        (usage.input_tokens, price.input_pico),
        (usage.cache_read_tokens, price.cache_read_pico),
        (usage.cache_write_5m_tokens, price.cache_write_5m_pico),
        (usage.cache_write_1h_tokens, price.cache_write_1h_pico),
        (usage.output_tokens, price.output_pico),
    ]
    with localcontext(prec=80):
        dollars = sum((Decimal(count) * Decimal(rate or 0) / 10**12 for count, rate in pairs), Decimal(0))
        share = Decimal(price.batch_bp) / 10_000 if batch else Decimal(1)
        return int((dollars * share * 10**9).to_integral_value(ROUND_CEILING))


@settings(max_examples=EXAMPLES)
@given(usages, prices, st.booleans())
def test_the_cost_of_an_entry_is_the_oracles(usage: TokenUsage, price: Price, batch: bool) -> None:
    assert cost_nano_usd(usage, price, batch) == oracle_nano(usage, price, batch=batch)


@settings(max_examples=EXAMPLES)
@given(st.integers(-(10**18), 10**18))
def test_an_amount_survives_its_spelling(nano: int) -> None:
    spelled = usd(nano)
    assert spelled is not None and "e" not in spelled.lower()
    assert Decimal(spelled) * 10**9 == nano


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 10**18))
def test_the_default_reserve_is_never_more_than_five_percent(limit: int) -> None:
    assert Decimal(default_reserve(limit)) <= Decimal(limit) * 5 / 100 < default_reserve(limit) + 1


@pytest.mark.parametrize("module", MONEY_MODULES)
def test_no_float_stands_in_a_money_module(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text())
    found = [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Constant) and isinstance(node.value, float))
        or (isinstance(node, ast.Name) and node.id == "float")
        or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
    ]
    assert found == [], f"{module} lines {found}"
