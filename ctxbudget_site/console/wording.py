"""Numbers, money and names as people read them; nothing here decides anything."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

NANO = 10**9
NO_PRICE = "— no price"
_STEPS = ((10**9, "B"), (10**6, "M"), (10**3, "k"))


def tokens(count: int | Literal[""] | None) -> str:
    """146,000 as 146.0k; small numbers exactly. Templates give "" for what is not there."""
    if count is None or count == "":
        return "—"
    size = abs(count)
    for step, letter in _STEPS:
        if size >= step:
            tenths = size * 10 // step
            sign = "−" if count < 0 else ""
            return f"{sign}{tenths // 10:,}.{tenths % 10}{letter}"
    return f"{count:,}".replace("-", "−")


def exact(count: int | Literal[""] | None) -> str:
    return "—" if count is None or count == "" else f"{count:,}".replace("-", "−")


def signed(count: int) -> str:
    return f"+{tokens(count)}" if count > 0 else tokens(count)


def dollars(nano: int | None) -> str:
    """Cents above one dollar, more places below; an unknown price is said, never $0.00."""
    if nano is None:
        return NO_PRICE
    sign, size = ("−", -nano) if nano < 0 else ("", nano)
    if size and size < NANO // 100:
        places = f"{size:09d}".rstrip("0")
        return f"{sign}$0.{places[: max(4, len(places) - len(places.lstrip('0')) + 2)]}"
    cents = (size + NANO // 200) // (NANO // 100)
    return f"{sign}${cents // 100:,}.{cents % 100:02d}"


def percent(part: int | None, whole: int | None) -> str:
    if part is None or not whole:
        return "—"
    tenths = part * 1000 // whole
    if part and not tenths:
        return "<0.1 %"
    return f"{tenths // 10} %" if tenths >= 100 or tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10} %"


def basis_points(value: int) -> str:
    whole, rest = divmod(value, 100)
    return f"{whole}.{rest:02d} %" if rest else f"{whole} %"


def span(length: timedelta) -> str:
    seconds = int(abs(length.total_seconds()))
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


def since(moment: datetime | None) -> str:
    if moment is None:
        return "never"
    # Only shown, never decided by: the process's own clock spares the database a question per row.
    length = datetime.now(UTC) - moment
    if abs(length) < timedelta(seconds=5):
        return "just now"
    return f"{span(length)} ago" if length > timedelta(0) else f"in {span(length)}"


def plain_name(name: str) -> str:
    """recent_messages as Recent messages."""
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def cap_name(scope: str, name: str, period: str, limit_nano: int) -> str:
    """What it binds and how much: “session $5.00”, “model gpt-5 $20.00 a week”."""
    # The id of a session or a key says nothing to people; a model has a name.
    bound = f"{scope} {name}" if scope == "model" else scope
    every = "" if period == "total" else f" an {period}" if period == "hour" else f" a {period}"
    return f"{bound} {dollars(limit_nano)}{every}"
