"""Real agent runs: not one unsafe truncation."""

from __future__ import annotations

import pytest

from benchmarks.safety_bench_core import PLAN, data_folder, measure


@pytest.mark.parametrize("sticky", [False, True])
@pytest.mark.parametrize(
    ("source", "budget"), [(source, budget) for source, budgets in PLAN.items() for budget in budgets]
)
def test_no_truncation_of_a_real_run_is_unsafe(source: str, budget: int, sticky: bool):
    folder = data_folder()
    if folder is None:
        pytest.skip("the shared recordings are not on this machine")

    measured = measure(folder, source, budget, sticky=sticky)

    assert measured.found["unsafe"] == 0
    assert measured.found["lost_goal"] == 0
    assert measured.found["not_user_first"] == 0
