"""How long a budget lasts at the present burn: pure arithmetic that can say "not enough data"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# Fewer days than this tell nothing about a habit.
MINIMUM_DAYS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """`exhausted_at` is None when the money outlasts the window, or when there is nothing to judge by."""

    enough_data: bool
    daily_nano: int | None
    exhausted_at: datetime | None
    basis: str


def forecast(daily_nano: Sequence[int], *, remaining_nano: int | None, now: datetime) -> Forecast:
    """The mean of the days given; the last day is still running and counts as a day only for its spend."""
    if len(daily_nano) < MINIMUM_DAYS:
        return Forecast(
            enough_data=False,
            daily_nano=None,
            exhausted_at=None,
            basis=f"not enough data: {len(daily_nano)} of {MINIMUM_DAYS} days with spend",
        )
    mean = sum(daily_nano) // len(daily_nano)
    ends = None
    if remaining_nano is not None and mean > 0:
        ends = now + timedelta(seconds=remaining_nano * 86_400 // mean)
    return Forecast(
        enough_data=True,
        daily_nano=mean,
        exhausted_at=ends,
        basis=f"mean of {len(daily_nano)} days with spend",
    )
