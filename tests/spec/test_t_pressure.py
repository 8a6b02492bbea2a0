"""T2, T3 and the text of T4: pressure of an agent that reports its own usage."""

from __future__ import annotations

import pytest

from budgets.core.basis_points import ratio_bp
from budgets.core.messages import compact_intervention
from budgets.core.policy import parse_policy
from budgets.core.presets import PRESETS
from budgets.core.pressure import PressureState, clear, observe
from budgets.core.window import window_size

STREAM = parse_policy(PRESETS["stream-coding-agent"].document)
WINDOW = 200_000


def result(used, state=None):
    """One result event; the budget's total plays no part."""
    return observe(state or PressureState(), used, STREAM.thresholds, total=1, window=WINDOW, at=0)


@pytest.mark.parametrize(
    ("used", "expected_bp"),
    [
        (100_000, 5000),
        (155_999, 7799),  # floored
        (220_000, 11_000),  # may exceed the whole
    ],
)
def test_t2_utilisation_is_used_over_window(used, expected_bp):
    assert ratio_bp(used, window_size(STREAM.window, None).tokens) == expected_bp


@pytest.mark.parametrize(
    ("used", "flags"),
    [
        (139_999, set()),
        (140_000, {"warning"}),  # 70 % is enough
        (155_999, {"warning"}),
        (156_000, {"warning", "compact"}),  # 78 % is enough, and implies the warning
    ],
)
def test_t3_flags_are_set_at_70_and_78_percent_of_the_window(used, flags):
    assert result(used).state.flags == flags


def test_t3_flags_latch_until_cleared_one_by_one():
    state = result(10_000, result(160_000).state).state
    assert state.flags == {"warning", "compact"}

    state = result(10_000, clear(state, "compact")).state
    assert state.flags == {"warning"}
    assert result(10_000, clear(state, "warning")).state.flags == frozenset()


@pytest.mark.parametrize("flag", ["warning", "compact"])
def test_t3_a_flag_cleared_while_still_above_latches_again_at_the_next_result(flag):
    state = clear(result(160_000).state, flag)

    assert flag not in state.flags
    assert flag in result(160_000, state).state.flags


def test_t3_compact_stays_due_while_its_flag_is_latched():
    first = result(160_000)
    later = result(10_000, first.state)

    assert [signal.name for signal in first.crossed] == ["BUDGET_WARNING", "COMPACT_DUE"]
    assert later.crossed == ()
    assert later.due_actions[0] == "compact"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            {"task": "the parser", "state": "BUILD", "scratch_path": ".context/scratch.md"},
            "/compact focus on the parser -- current CfA state is BUILD\n"
            "After compaction, read .context/scratch.md for preserved context.",
        ),
        (
            {"task": "the parser", "state": "BUILD"},
            "/compact focus on the parser -- current CfA state is BUILD",
        ),
        ({"task": "the parser"}, "/compact focus on the parser"),
        ({"state": "BUILD"}, "/compact current CfA state is BUILD"),
        ({}, "/compact"),
    ],
)
def test_t4_the_intervention_names_task_state_and_scratch(values, expected):
    assert compact_intervention(STREAM.interventions, **values) == expected
