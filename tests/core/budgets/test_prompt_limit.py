"""Some vendors take a shorter prompt than the window; the budget never passes it."""

from __future__ import annotations

import pytest

from budgets.core.policy import WindowPolicy
from budgets.core.window import window_budget


@pytest.mark.parametrize(
    ("limit", "max_input"),
    [
        (None, 320_000),  # 80 % of the window
        (272_000, 272_000),  # gpt-5: less than 80 %
        (390_000, 320_000),  # a limit above the budget changes nothing
    ],
)
def test_the_vendors_prompt_limit_bounds_the_input(limit: int | None, max_input: int) -> None:
    budget = window_budget(WindowPolicy(safety_bp=8000), 400_000, prompt_limit=limit)
    assert (budget.safe, budget.max_input) == (320_000, max_input)
