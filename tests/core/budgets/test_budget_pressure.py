"""Levels, latched flags, and what hysteresis, cool-down and debug-only keep quiet."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgets.core.policy import Threshold
from budgets.core.pressure import (
    PressureState,
    clear,
    dump_state,
    level,
    limit_tokens,
    load_state,
    observe,
)

WARN = Threshold(flag="warning", level="warning", basis="budget", at=8000, latched=False)
CRITICAL = Threshold(
    flag="compact",
    level="critical",
    basis="budget",
    at=9000,
    strict=True,
    latched=False,
    signal="BUDGET_CRITICAL",
    action="compact",
)
LATCHED = (replace(WARN, latched=True), replace(CRITICAL, latched=True))


def watch(readings, thresholds, *, state=None, total=1000, window=2000, debug=False):
    """Observations of (seconds, used) pairs, one after the other."""
    state = state or PressureState()
    seen = []
    for at, used in readings:
        seen.append(observe(state, used, thresholds, total=total, window=window, at=at, debug=debug))
        state = seen[-1].state
    return seen


def signals(observations):
    return [[signal.name for signal in observation.crossed] for observation in observations]


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (0, "normal"),
        (799, "normal"),  # one below 80 %
        (800, "warning"),  # 80 % belongs to warning
        (900, "warning"),  # 90 % still does
        (901, "critical"),  # strictly above 90 %
        (5000, "critical"),  # may be far above the whole
    ],
)
def test_the_level_is_stateless_and_exact_at_its_edges(used, expected):
    assert level(used, [WARN, CRITICAL], total=1000, window=2000) == expected


@pytest.mark.parametrize(
    ("threshold", "used", "total", "window", "over"),
    [
        (replace(WARN, at=8001), 80_009, 100_000, 1, False),  # 80.009 % is not 80.01 %
        (replace(WARN, at=8001), 80_010, 100_000, 1, True),  # 80.01 % is
        (replace(WARN, basis="window"), 1599, 1, 2000, False),  # the window, not the budget
        (replace(WARN, basis="window"), 1600, 1, 2000, True),
        (replace(WARN, basis="tokens", at=35_000), 34_999, 1, 1, False),  # absolute, whatever the total
        (replace(WARN, basis="tokens", at=35_000), 35_000, 1, 1, True),
        (replace(WARN, basis="tokens", at=35_000, strict=True), 35_000, 1, 1, False),
        (replace(WARN, basis="tokens", at=35_000, strict=True), 35_001, 1, 1, True),
        (WARN, 0, 0, 0, True),  # no budget at all is full from the start
        (replace(WARN, strict=True), 0, 0, 0, False),  # unless strict
    ],
)
def test_a_threshold_compares_on_its_own_basis(threshold, used, total, window, over):
    assert (level(used, [threshold], total=total, window=window) == "warning") is over


def test_unlatched_flags_follow_the_reading():
    seen = watch([(0, 850), (1, 950), (2, 850), (3, 100)], [WARN, CRITICAL])

    assert [sorted(observation.state.flags) for observation in seen] == [
        ["warning"],
        ["compact", "warning"],
        ["warning"],
        [],
    ]


def test_latched_flags_stay_until_they_are_cleared_one_by_one():
    state = watch([(0, 950), (1, 100)], LATCHED)[-1].state
    assert state.flags == {"warning", "compact"}

    state = clear(state, "compact")
    assert state.flags == {"warning"}
    assert watch([(2, 100)], LATCHED, state=state)[-1].state.flags == {"warning"}
    assert clear(state, "warning").flags == frozenset()


def test_a_flag_cleared_while_still_above_latches_again_and_speaks_again():
    state = clear(watch([(0, 950)], LATCHED)[-1].state, "compact")
    again = watch([(1, 950)], LATCHED, state=state)[-1]

    assert again.state.flags == {"warning", "compact"}
    assert [signal.flag for signal in again.crossed] == ["compact", "compact"]


def test_clearing_a_flag_that_is_not_set_changes_nothing():
    state = watch([(0, 850)], LATCHED)[-1].state

    assert clear(state, "compact") == state


def test_a_critical_threshold_implies_the_warning_on_another_basis():
    by_tokens = replace(CRITICAL, basis="tokens", at=300, latched=True)
    seen = watch([(0, 301)], [LATCHED[0], by_tokens])[-1]  # 30 % of the budget only

    assert seen.state.flags == {"warning", "compact"}
    assert seen.level == "critical"


def test_a_crossing_is_signalled_once_while_it_lasts():
    assert signals(watch([(0, 850), (1, 860), (2, 870)], [WARN])) == [["BUDGET_WARNING"], [], []]


def test_a_due_compaction_signals_its_level_and_its_action():
    crossed = watch([(0, 950)], [CRITICAL])[-1].crossed

    assert [(signal.name, signal.used, signal.limit) for signal in crossed] == [
        ("BUDGET_CRITICAL", 950, 900),
        ("COMPACT_DUE", 950, 900),
    ]


def test_a_signal_that_is_already_the_action_is_not_doubled():
    assert signals(watch([(0, 950)], [replace(CRITICAL, signal="COMPACT_DUE")])) == [["COMPACT_DUE"]]


@pytest.mark.parametrize(
    ("clear_at", "used", "expected"),
    [
        # without a clear level it speaks at every crossing
        (None, [850, 750, 850], [1, 0, 1]),
        # inside the band nothing is cleared, so nothing is crossed again
        (7000, [850, 750, 850], [1, 0, 0]),
        # at the clear level it is cleared
        (7000, [850, 700, 850], [1, 0, 1]),
        # one token above it is not
        (7000, [850, 701, 850], [1, 0, 0]),
        # entering the band from below says nothing
        (7000, [750, 790, 750], [0, 0, 0]),
    ],
)
def test_hysteresis_keeps_signals_from_flapping(clear_at, used, expected):
    seen = watch(list(enumerate(used)), [replace(WARN, clear=clear_at)])

    assert [len(observation.crossed) for observation in seen] == expected


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        # the second crossing comes too soon
        ([(0, 850), (10, 100), (20, 850)], [1, 0, 0]),
        # after the cool-down what is still above is said
        ([(0, 850), (10, 100), (20, 850), (60, 850)], [1, 0, 0, 1]),
        # exactly at its end it may speak
        ([(0, 850), (10, 100), (60, 850)], [1, 0, 1]),
    ],
)
def test_a_cool_down_delays_signals(readings, expected):
    seen = watch(readings, [replace(WARN, cooldown_s=60)])

    assert [len(observation.crossed) for observation in seen] == expected


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (WARN, [1, 1, 1]),  # a message after each response
        (replace(WARN, clear=7000), [1, 0, 0]),  # once per crossing
        (replace(WARN, cooldown_s=2), [1, 0, 1]),  # not more often than every two seconds
        (replace(WARN, debug_only=True), [0, 0, 0]),  # only for debugging
    ],
)
def test_it_says_when_a_message_is_due(threshold, expected):
    seen = watch([(0, 850), (1, 860), (2, 870)], [threshold])

    assert [len(observation.speaking) for observation in seen] == expected


def test_debug_only_is_silent_in_production_and_speaks_in_debug():
    quiet = [replace(WARN, debug_only=True)]

    assert signals(watch([(0, 850)], quiet)) == [[]]
    assert signals(watch([(0, 850)], quiet, debug=True)) == [["BUDGET_WARNING"]]


def test_switching_debug_on_while_above_says_what_was_kept_quiet():
    quiet = [replace(WARN, debug_only=True)]
    state = watch([(0, 850)], quiet)[-1].state

    assert signals(watch([(1, 850)], quiet, state=state, debug=True)) == [["BUDGET_WARNING"]]


def test_due_actions_come_from_all_set_flags_the_most_urgent_first():
    assert watch([(0, 950), (1, 10)], LATCHED)[-1].due_actions == ("compact", "warn")
    assert watch([(0, 950)], [replace(CRITICAL, action="none")])[-1].due_actions == ()


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (WARN, 2622),  # 80 % of 3277 is 2621.6: reached at 2622
        (replace(WARN, strict=True), 2621),  # strictly above 2621.6 means above 2621
        (replace(WARN, basis="window"), 3277),  # 80 % of 4096 is 3276.8
        (replace(WARN, basis="tokens", at=35_000), 35_000),
    ],
)
def test_the_limit_in_tokens_is_where_the_threshold_is_reached(threshold, expected):
    assert limit_tokens(threshold, total=3277, window=4096) == expected


def test_the_state_survives_storage():
    state = watch([(5, 950)], LATCHED)[-1].state

    assert load_state(dump_state(state)) == state
    assert load_state({}) == PressureState()


THRESHOLDS = st.builds(
    Threshold,
    flag=st.just("warning"),
    level=st.sampled_from(["warning", "critical"]),
    basis=st.sampled_from(["budget", "window", "tokens"]),
    at=st.integers(1, 10_000),
    strict=st.booleans(),
    clear=st.none() | st.just(0),
    cooldown_s=st.integers(0, 5),
    latched=st.booleans(),
    debug_only=st.booleans(),
    action=st.sampled_from(["warn", "compact", "checkpoint", "none"]),
)
USED = st.lists(st.integers(0, 30_000), min_size=1, max_size=12)


@given(THRESHOLDS, st.integers(0, 20_000), st.integers(1, 20_000), st.integers(1, 20_000))
def test_the_level_equals_exact_fractions(threshold, used, total, window):
    whole = {"budget": Fraction(total, 10_000), "window": Fraction(window, 10_000), "tokens": Fraction(1)}
    edge = threshold.at * whole[threshold.basis]
    over = used > edge if threshold.strict else used >= edge

    assert level(used, [threshold], total=total, window=window) == (threshold.level if over else "normal")


@given(THRESHOLDS, USED)
def test_what_is_said_never_changes_level_flags_or_actions(threshold, used):
    plain = replace(threshold, clear=None, cooldown_s=0, debug_only=False)

    def facts(row):
        return [(o.level, o.state.flags, o.due_actions) for o in watch(list(enumerate(used)), [row])]

    assert facts(threshold) == facts(plain)


@given(st.lists(st.integers(701, 799), min_size=1, max_size=20), st.booleans())
def test_nothing_flaps_inside_the_band(inside, warned_before):
    banded = [replace(WARN, clear=7000)]
    start = watch([(0, 850 if warned_before else 100)], banded)[-1].state
    # Every second reading goes back over the threshold when it was announced before.
    readings = [used if index % 2 == 0 or not warned_before else 900 for index, used in enumerate(inside)]

    assert all(not names for names in signals(watch(list(enumerate(readings)), banded, state=start)))


@given(USED)
def test_a_latched_flag_is_set_exactly_since_the_first_crossing(used):
    seen = watch(list(enumerate(used)), [LATCHED[0]])

    assert [bool(o.state.flags) for o in seen] == [max(used[: n + 1]) >= 800 for n in range(len(used))]
