"""C1: base load, soft limits in tokens, the window as the hard limit."""

from __future__ import annotations

import copy

import pytest

from budgets.core.policy import parse_policy, problems
from budgets.core.presets import PRESETS
from budgets.core.pressure import PressureState, observe

PROTOCOL = parse_policy(PRESETS["checkpoint-protocol"].document)
WINDOW = 200_000


def observe_used(used, thresholds=PROTOCOL.thresholds, total=180_000):
    return observe(PressureState(), used, thresholds, total=total, window=WINDOW, at=0)


def test_c1_the_base_load_is_2000():
    assert PROTOCOL.base_load_tokens == 2000


@pytest.mark.parametrize(
    ("used", "level", "flags"),
    [
        (35_000, "normal", set()),  # prepare is strictly above
        (35_001, "warning", {"warning"}),
        (40_000, "warning", {"warning"}),  # clear is strictly above
        (40_001, "critical", {"warning", "clear"}),
        (200_000, "critical", {"warning", "clear"}),  # the hard limit itself still fits
        (200_001, "critical", {"warning", "clear", "exhausted"}),
    ],
)
def test_c1_prepare_clear_and_the_hard_limit(used, level, flags):
    seen = observe_used(used)

    assert (seen.level, seen.state.flags) == (level, flags)
    assert ("checkpoint" in seen.due_actions) is (used > 40_000)


def test_c1_absolute_thresholds_live_beside_ratio_thresholds():
    document = copy.deepcopy(PRESETS["checkpoint-protocol"].document)
    document["thresholds"].append({"flag": "half", "level": "warning", "basis": "budget", "at_bp": 5000})
    thresholds = parse_policy(document).thresholds

    assert observe_used(36_000, thresholds).state.flags == {"warning"}
    assert observe_used(36_000, thresholds, total=72_000).state.flags == {"warning", "half"}


def test_c1_a_limit_below_the_base_load_is_refused():
    document = copy.deepcopy(PRESETS["checkpoint-protocol"].document)
    document["thresholds"][0]["at_tokens"] = 1999

    assert [problem.pointer for problem in problems(document)] == ["/thresholds/0/at_tokens"]


def test_c1_the_preset_names_its_triggers():
    triggers = PROTOCOL.triggers

    assert (triggers.story_complete, triggers.phase_transition, triggers.commands) == (True, True, True)
    assert triggers.subagents_complete == 5
