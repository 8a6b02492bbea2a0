"""A session turn by turn as SVG geometry: stacked sections, limits, marks and the money below."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from budgets.core.presets.preset import VOLATILITIES
from sessions.models import AgentSession, Assembly, Signal, Turn
from sessions.services.frames import Frame
from sessions.views.composition import UNSEEN, colours_of

WIDTH, HEIGHT, LANE = 1000, 260, 60
MAX_TURNS = 200
_MARKS = {
    "COMPACTED": "compaction",
    "CHECKPOINT_WRITE": "checkpoint",
    "COST_WARNING": "cost warning",
    "COST_LIMIT": "cost limit",
    "MODEL_SWITCHED": "model switch",
    "PROFILE_CHANGED": "profile change",
    "APPROVED": "approved",
    "DECLINED": "declined",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One section over the turns, stacked on those before it."""

    name: str
    colour: int
    points: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    name: str
    y: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    kind: str
    title: str
    x: int
    y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    x: int
    y: int
    width: int
    height: int
    nano: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One turn of the table that says the same as the picture."""

    turn: Turn
    sections: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    bands: tuple[Band, ...]
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]
    spends: tuple[Spend, ...]
    moments: tuple[Moment, ...]
    names: tuple[str, ...] = ()
    width: int = WIDTH
    height: int = HEIGHT
    lane: int = LANE
    is_cut: bool = False
    colours: dict[str, int] = field(default_factory=dict)


def read_timeline(session: AgentSession, frame: Frame) -> Timeline:
    turns = list(Turn.objects.filter(session=session).order_by("-number")[:MAX_TURNS])[::-1]
    if not turns:
        return Timeline(bands=(), lines=(), marks=(), spends=(), moments=())
    first = turns[0].created_at
    assemblies = list(
        Assembly.objects.filter(session=session)
        .order_by("-number")
        .values_list("created_at", "report")[: MAX_TURNS + 1]
    )[::-1]
    signals = list(
        Signal.objects.filter(session=session, kind__in=_MARKS, created_at__gte=first).order_by("number")
    )
    moments = [Moment(turn=turn, sections=_sections(turn, assemblies)) for turn in turns]
    return _drawn(moments, signals, frame, is_cut=turns[0].number > 1)


def _sections(turn: Turn, assemblies: Sequence[tuple[datetime, dict[str, Any]]]) -> dict[str, int]:
    """The last context assembled before the turn, topped up to what the turn used."""
    place = bisect_right(assemblies, turn.created_at, key=lambda row: row[0])
    parts: dict[str, int] = {}
    if place:
        for row in assemblies[place - 1][1]["sections"]:
            if row["used"]:
                parts[row["name"]] = row["used"]
    rest = turn.used_tokens - sum(parts.values())
    if rest > 0:
        parts[UNSEEN if parts else "used"] = rest
    return parts


def _drawn(moments: list[Moment], signals: list[Signal], frame: Frame, *, is_cut: bool) -> Timeline:
    seen = {name for moment in moments for name in moment.sections}
    # What hardly changes lies at the bottom, so that the bands above it stay readable.
    names = tuple(sorted(seen, key=lambda name: (name == UNSEEN, VOLATILITIES.get(name, 45), name)))
    used = max(moment.turn.used_tokens for moment in moments)
    # A window far above the budget would press everything flat; it is then left out of the picture.
    ceiling = frame.context_window if frame.context_window <= 2 * frame.total else frame.total
    peak = max(used, ceiling) * 105 // 100
    colours = {**colours_of([n for n in names if n not in (UNSEEN, "used")]), UNSEEN: 14, "used": 7}
    xs = _places(len(moments))
    lines = [Line(name="usable budget", tokens=frame.total, y=_y(frame.total, peak))]
    if frame.context_window <= peak:
        lines.append(Line(name="window", tokens=frame.context_window, y=_y(frame.context_window, peak)))
    for threshold in frame.policy.thresholds:
        if threshold.action == "compact":
            limit = _limit(threshold, frame)
            lines.append(Line(name="compaction", tokens=limit, y=_y(limit, peak)))
    return Timeline(
        bands=tuple(_bands(moments, names, colours, xs, peak)),
        lines=tuple(lines),
        marks=tuple(_marks(moments, signals, xs, peak)),
        spends=tuple(_spends(moments, xs)),
        moments=tuple(reversed(moments)),
        names=names,
        is_cut=is_cut,
        colours=colours,
    )


def _limit(threshold: Any, frame: Frame) -> int:
    if threshold.basis == "tokens":
        return int(threshold.at)
    whole = frame.context_window if threshold.basis == "window" else frame.total
    return int(threshold.at * whole // 10_000)


def _places(count: int) -> list[int]:
    return [WIDTH // 2] if count == 1 else [number * WIDTH // (count - 1) for number in range(count)]


def _y(tokens: int, peak: int) -> int:
    return HEIGHT - tokens * HEIGHT // peak if peak else HEIGHT


def _bands(
    moments: Sequence[Moment], names: Sequence[str], colours: dict[str, int], xs: Sequence[int], peak: int
) -> list[Band]:
    floor = [0] * len(moments)
    bands = []
    for name in names:
        top = [low + moment.sections.get(name, 0) for low, moment in zip(floor, moments, strict=True)]
        upper = [f"{x},{_y(level, peak)}" for x, level in zip(xs, top, strict=True)]
        lower = [f"{x},{_y(level, peak)}" for x, level in zip(xs, floor, strict=True)]
        bands.append(Band(name=name, colour=colours[name], points=" ".join([*upper, *reversed(lower)])))
        floor = top
    return bands


def _marks(moments: Sequence[Moment], signals: Sequence[Signal], xs: Sequence[int], peak: int) -> list[Mark]:
    times = [moment.turn.created_at for moment in moments]
    marks = []
    for signal in signals:
        place = min(bisect_left(times, signal.created_at), len(times) - 1)
        removed = signal.payload.get("before", 0) - signal.payload.get("after", 0)
        height = removed if signal.kind == "COMPACTED" else peak * 5 // 100
        title = _MARKS[signal.kind] + (f": {removed:,} tokens removed" if signal.kind == "COMPACTED" else "")
        marks.append(Mark(kind=_MARKS[signal.kind], title=title, x=xs[place], y=_y(min(height, peak), peak)))
    return marks


def _spends(moments: Sequence[Moment], xs: Sequence[int]) -> list[Spend]:
    most = max((moment.turn.cost_nano or 0 for moment in moments), default=0) or 1
    width = max(2, WIDTH // (2 * len(moments)))
    spends = []
    for moment, x in zip(moments, xs, strict=True):
        nano = moment.turn.cost_nano
        height = LANE if nano is None else nano * LANE // most
        left = min(max(0, x - width // 2), WIDTH - width)
        spends.append(Spend(x=left, y=LANE - height, width=width, height=height, nano=nano))
    return spends
