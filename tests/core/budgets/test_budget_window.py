"""The window hierarchy, table by table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgets.core.errors import NegativeTokens, NoInputRoom, UnknownMode
from budgets.core.policy import CompactionPolicy, OutputReserve, WindowPolicy
from budgets.core.window import compaction_memory, compaction_target, window_budget, window_size

RATIO = WindowPolicy()
STORY = WindowPolicy(
    safety_bp=9000,
    output_reserve=OutputReserve(ratio_bp=2000, minimum_tokens=1024, modes={"combat": 24_000, "short": 10}),
    use_latency_cap=True,
)


@pytest.mark.parametrize(
    ("policy", "window", "wanted", "expected"),
    [
        (RATIO, 8192, {}, (6553, 0, 6553)),  # no reserve: the answer lives in the other 20 %
        (RATIO, 8192, {"max_output": 1000}, (6553, 0, 6553)),  # 6553 + 1000 still fit the window
        (RATIO, 8192, {"max_output": 2000}, (6553, 361, 6192)),  # 6192 + 2000 = the whole window
        (STORY, 131_072, {"max_output": 1000}, (117_964, 23_592, 94_372)),  # the reserve covers it already
        (STORY, 131_072, {"max_output": 40_000}, (117_964, 26_892, 91_072)),  # more than reserve and margin
        (STORY, 131_072, {"mode": "short"}, (117_964, 23_592, 94_372)),  # a mode never lowers the reserve
        (STORY, 131_072, {"mode": "normal"}, (117_964, 23_592, 94_372)),  # the name of having no mode
        (
            STORY,
            131_072,
            {"latency_cap": 200_000},
            (117_964, 23_592, 94_372),
        ),  # a cap above safe does nothing
        (RATIO, 1_000_000, {"latency_cap": 300_000}, (800_000, 0, 800_000)),  # the policy does not use caps
        (STORY, 1139, {}, (1025, 1024, 1)),  # the smallest window with room for one token
    ],
)
def test_it_turns_a_window_into_input_room(policy, window, wanted, expected):
    budget = window_budget(policy, window, **wanted)

    assert (budget.safe, budget.output_reserve, budget.max_input) == expected


@pytest.mark.parametrize(
    ("policy", "window", "wanted"),
    [
        (STORY, 1138, {}),  # safe 1024 = the minimum reserve: nothing is left
        (STORY, 131_072, {"max_output": 131_072}),  # the whole window as output
        (STORY, 20_000, {"mode": "combat"}),  # the mode's reserve alone passes safe
        (RATIO, 0, {}),  # no window
    ],
)
def test_it_refuses_a_window_without_input_room(policy, window, wanted):
    with pytest.raises(NoInputRoom) as refusal:
        window_budget(policy, window, **wanted)

    assert refusal.value.code == "context_too_large"
    assert refusal.value.output_reserve >= refusal.value.safe


def test_it_names_the_modes_it_knows_when_it_refuses_one():
    with pytest.raises(UnknownMode, match="normal, combat, short") as refusal:
        window_budget(STORY, 131_072, mode="dream")

    assert refusal.value.pointer == "/mode"


@pytest.mark.parametrize("wanted", [{"max_output": -1}, {"latency_cap": -1}])
def test_it_refuses_negative_tokens(wanted):
    with pytest.raises(NegativeTokens):
        window_budget(STORY, 131_072, **wanted)


def test_an_unknown_window_is_the_fallback_and_says_so():
    assert window_size(RATIO, None).tokens == 32_000
    assert window_size(RATIO, None).assumed
    assert not window_size(RATIO, 4096).assumed


def test_compaction_aims_at_half_the_window_and_gives_memory_a_fifth_of_it():
    assert compaction_target(CompactionPolicy(), 8192) == 4096
    assert compaction_memory(CompactionPolicy(), 8192) == 819


@given(st.integers(2000, 10**7), st.integers(0, 10**6))
def test_input_and_output_together_never_pass_the_window(window, max_output):
    try:
        budget = window_budget(STORY, window, max_output=max_output)
    except NoInputRoom:
        return
    assert budget.max_input + max(budget.output_reserve, max_output) <= window
    assert budget.max_input + budget.output_reserve == budget.safe
