"""Whether what is left of a cap lasts until its window ends, at the pace of that window so far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

# Less of a window than this tells nothing about its rest.
MINIMUM_BP = 1000
_WHOLE_BP = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """`spent_at` is None where the money lasts, and where it cannot be said."""

    is_known: bool
    spent_at: datetime | None = None


def pace_of(
    *,
    settled_nano: int,
    remaining_nano: int,
    starts_at: datetime | None,
    ends_at: datetime | None,
    now: datetime,
) -> Pace:
    """Unknown for a window without an end, and until a tenth of it is over."""
    if starts_at is None or ends_at is None:
        return Pace(is_known=False)
    gone = now - starts_at
    if gone * _WHOLE_BP < (ends_at - starts_at) * MINIMUM_BP or gone <= timedelta(0):
        return Pace(is_known=False)
    if settled_nano <= 0:
        return Pace(is_known=True)
    # In whole seconds of integers: no float decides about money.
    seconds = max(0, remaining_nano) * int(gone.total_seconds()) // settled_nano
    left = int((ends_at - now).total_seconds())
    return Pace(is_known=True, spent_at=now + timedelta(seconds=seconds) if seconds < left else None)
