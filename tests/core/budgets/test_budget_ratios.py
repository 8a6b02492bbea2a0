"""Calculate, adjust and available: the three plain calculations and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgets.core.errors import NegativeTokens, SharesInvalid, UnknownSection, ZeroTotal
from budgets.core.ratios import adjust_budget, available, calculate_budget

NAMES = ("system_prompt", "goal", "memory", "recent_messages")


@st.composite
def shares(draw):
    cuts = sorted(draw(st.lists(st.integers(0, 10_000), min_size=len(NAMES), max_size=len(NAMES))))
    return {name: high - low for name, low, high in zip(NAMES, [0, *cuts[:-1]], cuts, strict=True)}


@pytest.mark.parametrize(
    ("bad_shares", "pointer"),
    [
        ({"goal": -1}, "/shares/goal"),  # a negative share
        ({"goal": 10_001}, "/shares"),  # 100.01 % in one
        ({"goal": 5000, "memory": 5001}, "/shares"),  # 100.01 % in two
        ({"total": 10}, "/shares/total"),  # would hide the total
    ],
)
def test_it_refuses_shares_that_cannot_be_given(bad_shares, pointer):
    with pytest.raises(SharesInvalid) as refusal:
        calculate_budget(6400, bad_shares)

    assert refusal.value.pointer == pointer


@pytest.mark.parametrize(
    ("calculation", "pointer"),
    [
        (lambda: calculate_budget(-1, {"goal": 1}), "/total"),
        (lambda: adjust_budget({"total": 10, "goal": 1}, -1), "/new_total"),
        (lambda: adjust_budget({"total": 10, "goal": -1}, 5), "/budget/goal"),
        (lambda: available({"total": 10, "goal": 1}, {"goal": -1}), "/used/goal"),
    ],
)
def test_it_refuses_negative_tokens_and_names_the_field(calculation, pointer):
    with pytest.raises(NegativeTokens) as refusal:
        calculation()

    assert refusal.value.pointer == pointer


@pytest.mark.parametrize("budget", [{"total": 0, "goal": 0}, {"goal": 5}])
def test_it_refuses_to_scale_a_budget_of_nothing(budget):
    with pytest.raises(ZeroTotal) as refusal:
        adjust_budget(budget, 6400)

    assert refusal.value.pointer == "/budget/total"


def test_it_refuses_usage_of_a_section_that_is_not_there():
    with pytest.raises(UnknownSection) as refusal:
        available({"total": 10, "goal": 1}, {"gaol": 1})

    assert refusal.value.pointer == "/used/gaol"


@given(st.integers(0, 10**12), shares())
def test_sections_never_pass_the_total(total, shares_bp):
    budget = calculate_budget(total, shares_bp)

    assert sum(budget.values()) - budget["total"] <= total
    # Rounding down loses less than one token a section.
    assert total * sum(shares_bp.values()) // 10_000 - (sum(budget.values()) - total) < len(shares_bp) + 1


@given(st.integers(1, 10**6), st.integers(0, 10**6), shares())
def test_an_adjusted_budget_never_passes_its_new_total(total, new_total, shares_bp):
    adjusted = adjust_budget(calculate_budget(total, shares_bp), new_total)

    assert adjusted["total"] == new_total
    assert sum(adjusted.values()) - new_total <= new_total


@given(st.integers(1, 10**6), st.lists(st.integers(1, 10**6), min_size=1, max_size=6), shares())
def test_scaling_again_and_again_only_ever_loses_against_computing_afresh(total, switches, shares_bp):
    scaled = calculate_budget(total, shares_bp)
    for switch in switches:
        scaled = adjust_budget(scaled, switch)
        afresh = calculate_budget(switch, shares_bp)
        assert all(scaled[name] <= afresh[name] for name in NAMES)
