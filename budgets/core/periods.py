"""Budget windows as keys: which stretch of a project's own calendar a moment belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

TOTAL = "total"
PERIODS = (TOTAL, "hour", "day", "week", "month")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From `starts_at` up to, not including, `ends_at`, both UTC; the total has neither."""

    key: str
    starts_at: datetime | None
    ends_at: datetime | None


def window_at(period: str, moment: datetime, zone: ZoneInfo) -> Window:
    """Windows of one period follow each other without gap or overlap, whatever the clocks do."""
    if period == TOTAL:
        return Window(key=TOTAL, starts_at=None, ends_at=None)
    floor, following, key = _RULES[period]
    label = floor(moment.astimezone(zone).replace(tzinfo=None))
    # Where clocks go back across a label's end, the wall clock names a window that is over already.
    while _instant(following(label), zone) <= moment:
        label = following(label)
    return Window(key=key(label), starts_at=_instant(label, zone), ends_at=_instant(following(label), zone))


def _instant(wall_time: datetime, zone: ZoneInfo) -> datetime:
    """The first time the wall clock reads so; inside a gap, the moment of the jump."""
    return wall_time.replace(tzinfo=zone, fold=0).astimezone(UTC)


def _hour(wall_time: datetime) -> datetime:
    return wall_time.replace(minute=0, second=0, microsecond=0)


def _day(wall_time: datetime) -> datetime:
    return datetime.combine(wall_time.date(), time())


def _week(wall_time: datetime) -> datetime:
    return _day(wall_time) - timedelta(days=wall_time.weekday())


def _month(wall_time: datetime) -> datetime:
    return _day(wall_time).replace(day=1)


def _next_month(label: datetime) -> datetime:
    return _month(label + timedelta(days=31))


def _week_key(label: datetime) -> str:
    year, week, _ = date.isocalendar(label)
    return f"{year:04d}-W{week:02d}"


# Where the label of a wall time begins, which label follows, and how a label is written.
_Rule = tuple[Callable[[datetime], datetime], Callable[[datetime], datetime], Callable[[datetime], str]]
_RULES: dict[str, _Rule] = {
    "hour": (_hour, lambda label: label + timedelta(hours=1), lambda label: f"{label:%Y-%m-%dT%H}"),
    "day": (_day, lambda label: label + timedelta(days=1), lambda label: f"{label:%Y-%m-%d}"),
    "week": (_week, lambda label: label + timedelta(days=7), _week_key),
    "month": (_month, _next_month, lambda label: f"{label:%Y-%m}"),
}
