"""The pace of a window, as a table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from budgets.core.pace import Pace, pace_of

START = datetime(2026, 3, 1, tzinfo=UTC)
END = START + timedelta(days=10)


def at(day: int, *, settled: int, remaining: int) -> Pace:
    now = START + timedelta(days=day)
    return pace_of(settled_nano=settled, remaining_nano=remaining, starts_at=START, ends_at=END, now=now)


@pytest.mark.parametrize(
    ("day", "settled", "remaining", "spent_on_day"),
    [
        # Half is gone after half of the time: it lasts.
        (5, 500, 500, None),
        # Four fifths after half of the time: the rest lasts for a quarter of what has passed.
        (4, 800, 200, 5),
        # Nothing is left: it is spent now.
        (5, 1000, 0, 5),
        # Only the reserve is left, which no hold may take.
        (5, 1000, -50, 5),
        # Nothing was spent: it lasts.
        (9, 0, 1000, None),
    ],
)
def test_it_says_when_the_money_ends(
    day: int, settled: int, remaining: int, spent_on_day: int | None
) -> None:
    expected = None if spent_on_day is None else START + timedelta(days=spent_on_day)
    assert at(day, settled=settled, remaining=remaining) == Pace(is_known=True, spent_at=expected)


def test_it_says_nothing_before_a_tenth_of_the_window() -> None:
    assert at(0, settled=900, remaining=100) == Pace(is_known=False)


def test_it_says_nothing_of_a_window_without_an_end() -> None:
    pace = pace_of(settled_nano=1, remaining_nano=1, starts_at=None, ends_at=None, now=START)
    assert pace == Pace(is_known=False)
