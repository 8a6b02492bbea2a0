"""What the browser draws: labels and series of the rows in the table beside it, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
Chart = dict[str, Any]


def bars(
    title: str,
    labels: Sequence[str],
    series: Sequence[Row],
    *,
    unit: str,
    horizontal: bool = False,
    stacked: bool = False,
) -> Chart:
    return {
        "kind": "bar",
        "title": title,
        "labels": list(labels),
        "series": list(series),
        "unit": unit,
        "horizontal": horizontal,
        "stacked": stacked,
    }


def one(label: str, colour: str, values: Sequence[int | float | None], *, hatched: bool = False) -> Row:
    """One series; a value of None is no bar at all, where 0 would say that something was free."""
    return {"label": label, "colour": colour, "values": list(values), "hatched": hatched}


def dollars(cost_usd: str | None) -> float | None:
    """For drawing only; sums are made of integers elsewhere."""
    return None if cost_usd is None else float(cost_usd)


def priced_and_not(labels: Sequence[str], rows: Sequence[Row], *, horizontal: bool = False) -> Chart | None:
    """Turns with a price and, hatched, those without; None where every turn has one."""
    if not any(row["unpriced_calls"] for row in rows):
        return None
    series = [
        one("turns with a price", "c7", [row["calls"] - row["unpriced_calls"] for row in rows]),
        one("turns with no price", "c12", [row["unpriced_calls"] for row in rows], hatched=True),
    ]
    title = "How much of it has no price?"
    return bars(title, labels, series, unit="turns", horizontal=horizontal, stacked=True)
