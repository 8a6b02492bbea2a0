"""What fills a session's window, as rows that add up and as a map of 200 cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from budgets.core.presets.preset import PURPOSES
from sessions.models import AgentSession
from sessions.services.budget_view import section_usage
from sessions.services.frames import Frame

CELLS = 200
COLUMNS = 40
CELL = 10  # SVG units from one cell to the next
GAP = 2
BAR = 1000
# Colours go by name, so that a section looks the same on every page.
COLOURS = {name: place for place, name in enumerate(PURPOSES, start=1)}
OTHER_COLOURS = (9, 10, 11, 12)
UNSEEN = "not_seen_by_us"
BASE = "base_load"

_EXTRA_PURPOSES = {
    BASE: "What the agent always carries: the base load that the profile states.",
    UNSEEN: "The provider reports more than we were sent: tool definitions, its own prompt, reasoning.",
    "protocols": "Documents that the agent loads just in time and unloads again.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One section: what it holds, what it was planned to hold, and how we know."""

    name: str
    purpose: str
    used: int
    planned: int | None
    source: str
    colour: int

    @property
    def difference(self) -> int | None:
        return None if self.planned is None else self.used - self.planned

    @property
    def is_over(self) -> bool:
        return self.planned is not None and self.used > self.planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    x: int
    y: int
    kind: str
    colour: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a bar of 1000 units, the whole window."""

    x: int
    width: int
    colour: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """`rows` sum to `used`; the page says so."""

    rows: tuple[Row, ...]
    cells: tuple[Cell, ...]
    used: int
    total: int
    window: int
    source: str

    @property
    def sum_of_rows(self) -> int:
        return sum(row.used for row in self.rows)

    @property
    def widest(self) -> int:
        return max((max(row.used, row.planned or 0) for row in self.rows), default=1) or 1

    @property
    def bars(self) -> dict[str, list[Piece]]:
        """The same window twice, one above the other: what is in it, and what was planned."""
        actual = [(row, row.used) for row in self.rows]
        planned = [(row, row.planned or 0) for row in self.rows]
        return {"actual": _pieces(actual, self.window), "planned": _pieces(planned, self.window)}

    @property
    def usable_x(self) -> int:
        return min(BAR, self.total * BAR // self.window)

    @property
    def columns(self) -> int:
        return COLUMNS * CELL - GAP

    @property
    def height(self) -> int:
        return CELLS // COLUMNS * CELL - GAP

    @property
    def side(self) -> int:
        return CELL - GAP

    @property
    def free(self) -> int:
        return max(0, self.total - self.used)

    @property
    def kept_back(self) -> int:
        return self.window - self.total


def compose(session: AgentSession, frame: Frame, *, source: str) -> Composition:
    used_by_section = section_usage(session, frame)
    planned = dict(frame.allocation(used_by_section).sections)
    rows = _rows(used_by_section, planned, frame)
    rows += _outside_rows(session, sum(row.used for row in rows), frame)
    return Composition(
        rows=tuple(rows),
        cells=tuple(map_cells(rows, total=frame.total, window=frame.context_window)),
        used=session.used_tokens,
        total=frame.total,
        window=frame.context_window,
        source=source,
    )


def compose_report(report: dict[str, Any]) -> Composition:
    """The same picture of an assembly as it was sent, from its stored proof."""
    sections = report["sections"]
    rows = _rows(
        {row["name"]: row["used"] for row in sections},
        {row["name"]: row["planned"] for row in sections},
        None,
        source=report["source"],
    )
    rest = report["tokens"] - sum(row.used for row in rows)
    if rest > 0:
        rows.append(_outside(BASE, rest, report["source"], 13))
    window, total = report["budget"]["window"], report["max_input"]
    return Composition(
        rows=tuple(rows),
        cells=tuple(map_cells(rows, total=total, window=window)),
        used=report["tokens"],
        total=total,
        window=window,
        source=report["source"],
    )


def _rows(
    used: dict[str, int], planned: dict[str, int], frame: Frame | None, *, source: str = "counted"
) -> list[Row]:
    names = list(dict.fromkeys([*planned, *used]))
    colours = colours_of(names)
    return [
        Row(
            name=name,
            purpose=_purpose(name, frame),
            used=used.get(name, 0),
            planned=planned.get(name, 0),
            source=frame.counter.source if frame else source,
            colour=colours[name],
        )
        for name in names
    ]


def colours_of(names: Sequence[str]) -> dict[str, int]:
    others = iter(OTHER_COLOURS * (len(names) // len(OTHER_COLOURS) + 1))
    return {name: COLOURS.get(name) or next(others) for name in names}


def _purpose(name: str, frame: Frame | None) -> str:
    section = frame.policy.section(name) if frame else None
    return (section.purpose if section else "") or PURPOSES.get(name) or _EXTRA_PURPOSES.get(name, "")


def _outside_rows(session: AgentSession, counted: int, frame: Frame) -> list[Row]:
    rows = []
    base = session.parts.get("base", 0)
    if base:
        rows.append(_outside(BASE, base, "stated", 13))
    unseen = session.used_tokens - counted - base
    if unseen > 0:
        rows.append(_outside(UNSEEN, unseen, "reported", 14))
    return rows


def _outside(name: str, used: int, source: str, colour: int) -> Row:
    return Row(
        name=name, purpose=_EXTRA_PURPOSES[name], used=used, planned=None, source=source, colour=colour
    )


def _pieces(parts: Sequence[tuple[Row, int]], window: int) -> list[Piece]:
    """Edges are rounded, not widths, so that pieces meet and end where their sum does."""
    pieces, end = [], 0
    for row, tokens in parts:
        left, end = end, end + tokens
        x, right = min(BAR, left * BAR // window), min(BAR, end * BAR // window)
        if right > x:
            pieces.append(Piece(x=x, width=right - x, colour=row.colour, title=row.name))
    return pieces


def map_cells(rows: Sequence[Row], *, total: int, window: int) -> list[Cell]:
    """A cell shows what lies at its middle; half a per cent of the window each."""
    edges, end = [], 0
    for row in rows:
        end += row.used
        edges.append((end, row))
    cells = []
    for number in range(CELLS):
        middle = (2 * number + 1) * window // (2 * CELLS)
        here = next((row for edge, row in edges if middle < edge), None)
        kind = _kind(here is not None, middle, total)
        y, x = divmod(number, COLUMNS)
        cells.append(
            Cell(
                x=x * CELL,
                y=y * CELL,
                kind=kind,
                colour=here.colour if here else 0,
                title=here.name if here else kind,
            )
        )
    return cells


def _kind(is_used: bool, middle: int, total: int) -> str:
    if is_used:
        return "used" if middle < total else "over"
    return "free" if middle < total else "kept back"
