"""Turns of a long story: what is planned, how it is reduced, and the key events between start and end."""

from __future__ import annotations

import pytest

from sessions.core.story import Turns, key_events, planned_turns, reductions, story_rules
from tests.core.sessions.contexts import count

RULES = story_rules(74_372, {})


@pytest.mark.parametrize(
    ("turns", "average", "expected"),
    [
        (40, 2_400, (7, 18)),
        (400, 100, (20, 20)),  # the caps
        (30, 20_000, (3, 5)),  # the minimums
        (12, 2_000, (6, 6)),  # never more than half at the start, no overlap
        (7, 50_000, (3, 4)),
        (4, 50_000, (2, 2)),
        (1, 50_000, (0, 1)),
    ],
)
def test_turns_follow_from_the_average_caps_and_minimums(turns, average, expected):
    planned = planned_turns(RULES, turns=turns, tokens=turns * average)

    assert (planned.start, planned.end) == expected
    assert planned.start + planned.end <= turns


@pytest.mark.parametrize(
    ("planned", "steps"),
    [
        ((3, 5), [(3, 5)]),
        ((4, 6), [(4, 6), (4, 5), (3, 5)]),  # clamped at the minimums
        ((20, 20), [(20, 20), (18, 20), (18, 18), (16, 18), (16, 16)]),
    ],
)
def test_the_loop_takes_two_turns_at_a_time(planned, steps):
    found = list(reductions(Turns(start=planned[0], end=planned[1]), RULES))

    assert [(turns.start, turns.end) for turns in found][: len(steps)] == steps
    assert (found[-1].start, found[-1].end) == (3, 5)


def test_key_events_stay_within_their_room_and_spread_over_the_story():
    texts = [f"It was a quiet day. The dragon {n} burned village{n}. They slept." for n in range(100)]

    events = key_events(texts, 200, count).splitlines()

    assert count("\n".join(events)) <= 200
    assert 10 <= len(events) <= 30
    assert events[0] == "- The dragon 0 burned village0."
    assert int(events[-1].split()[3]) > 90


def test_key_events_of_nothing_are_nothing():
    assert key_events([], 100, count) == ""
    assert key_events(["  ", "\n"], 100, count) == ""
    assert key_events(["Something happened."], 1, count) == ""
