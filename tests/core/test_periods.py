"""Windows as keys: one partition of time, in the project's own calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgets.core.periods import PERIODS, window_at

BERLIN, NEW_YORK, KATHMANDU = (
    ZoneInfo("Europe/Berlin"),
    ZoneInfo("America/New_York"),
    ZoneInfo("Asia/Kathmandu"),
)
# Whole hours, quarters, half-hour daylight saving, midnight jumps, a skipped day, clocks back over midnight.
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "America/St_Johns",
]
EPOCH = datetime(2005, 1, 1, tzinfo=UTC)
moments = st.integers(0, 30 * 365 * 86_400).map(lambda seconds: EPOCH + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("period", "moment", "zone", "key"),
    [
        ("total", datetime(2026, 11, 18, 9, 30, tzinfo=UTC), BERLIN, "total"),
        ("hour", datetime(2026, 11, 18, 8, 30, tzinfo=UTC), BERLIN, "2026-11-18T09"),
        ("day", datetime(2026, 11, 18, 23, 30, tzinfo=UTC), BERLIN, "2026-11-19"),
        ("day", datetime(2026, 11, 18, 3, 0, tzinfo=UTC), NEW_YORK, "2026-11-17"),
        ("hour", datetime(2026, 11, 18, 8, 14, tzinfo=UTC), KATHMANDU, "2026-11-18T13"),  # +05:45
        ("week", datetime(2026, 11, 18, 9, 30, tzinfo=UTC), BERLIN, "2026-W47"),
        ("week", datetime(2027, 1, 3, 12, 0, tzinfo=UTC), BERLIN, "2026-W53"),  # ISO years end on a Sunday
        ("month", datetime(2026, 10, 31, 23, 30, tzinfo=UTC), BERLIN, "2026-11"),
        ("month", datetime(2028, 2, 29, 12, 0, tzinfo=UTC), BERLIN, "2028-02"),
    ],
)
def test_a_moment_belongs_to_the_window_of_the_local_calendar(
    period: str, moment: datetime, zone: ZoneInfo, key: str
) -> None:
    assert window_at(period, moment, zone).key == key


@pytest.mark.parametrize(
    ("day", "hours"),
    [
        (datetime(2026, 3, 29, 12, tzinfo=UTC), 23),  # clocks go forward
        (datetime(2026, 10, 25, 12, tzinfo=UTC), 25),  # clocks go back
        (datetime(2026, 11, 18, 12, tzinfo=UTC), 24),
    ],
)
def test_a_day_is_as_long_as_the_clocks_make_it(day: datetime, hours: int) -> None:
    window = window_at("day", day, BERLIN)
    assert window.starts_at and window.ends_at
    assert window.ends_at - window.starts_at == timedelta(hours=hours)


def test_the_hour_that_comes_twice_is_one_window() -> None:
    first, second = (
        window_at("hour", datetime(2026, 10, 25, hour, 30, tzinfo=UTC), BERLIN) for hour in (0, 1)
    )
    assert first == second
    assert first.key == "2026-10-25T02"


@given(moments, st.sampled_from(PERIODS[1:]), st.sampled_from(ZONES))
def test_windows_follow_each_other_without_gap_or_overlap(moment: datetime, period: str, name: str) -> None:
    zone = ZoneInfo(name)
    window = window_at(period, moment, zone)
    assert window.starts_at is not None and window.ends_at is not None
    assert window.starts_at <= moment < window.ends_at
    assert window_at(period, window.starts_at, zone) == window
    following = window_at(period, window.ends_at, zone)
    assert following.starts_at is not None
    assert following.key > window.key
    assert window_at(period, window.ends_at - timedelta(microseconds=1), zone) == window
