"""A session turn by turn as SVG geometry: stacked sections, limits, marks and the money below."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
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
MARK_STEP = 18  # from one mark to the next below it, where several fall on one turn
LABEL_STEP = 17  # the least distance at which two labels can be read
TICKS = 6
# What is marked, and the letter that stands for it in the picture.
_MARKS = {
    "COMPACTED": ("compaction", "C"),
    "CHECKPOINT_WRITE": ("checkpoint", "K"),
    "COST_WARNING": ("cost warning", "!"),
    "COST_LIMIT": ("cost limit", "$"),
    "MODEL_SWITCHED": ("model switch", "M"),
    "PROFILE_CHANGED": ("profile change", "P"),
    "APPROVED": ("approved", "+"),
    "DECLINED": ("declined", "−"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One section over the turns, stacked on those before it."""

    name: str
    colour: int
    points: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A limit; its label is moved where another one would lie over it."""

    name: str
    y: int
    tokens: int
    label_y: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What happened at a turn; the mark of a compaction is as high as what it removed."""

    kind: str
    letter: str
    turn: int
    x: int
    y: int
    removed: int | None = None

    @property
    def title(self) -> str:
        removed = "" if self.removed is None else f", {self.removed:,} tokens removed"
        return f"{self.kind} at turn {self.turn}{removed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    x: int
    turn: int


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
    ticks: tuple[Tick, ...] = ()

    @property
    def most_nano(self) -> int | None:
        """The dearest turn, which the money below is drawn against; None where no turn has a price."""
        return max((spend.nano for spend in self.spends if spend.nano is not None), default=None)

    @property
    def marks_height(self) -> int:
        """Room for the marks between the sections and the money."""
        return max((mark.y for mark in self.marks if mark.removed is None), default=0) + MARK_STEP

    @property
    def lane_top(self) -> int:
        return self.height + 26 + (self.marks_height if self.marks else 0)

    @property
    def full_height(self) -> int:
        return self.lane_top + self.lane + 16

    @property
    def marks_by_kind(self) -> list[tuple[str, str, list[Mark]]]:
        """The same as words: each kind with its letter and its turns."""
        kinds: dict[tuple[str, str], list[Mark]] = {}
        for mark in self.marks:
            kinds.setdefault((mark.kind, mark.letter), []).append(mark)
        return [(kind, letter, marks) for (kind, letter), marks in kinds.items()]


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
    return Timeline(
        bands=tuple(_bands(moments, names, colours, xs, peak)),
        lines=tuple(_lines(frame, peak)),
        marks=tuple(_marks(moments, signals, xs, peak)),
        spends=tuple(_spends(moments, xs)),
        moments=tuple(reversed(moments)),
        names=names,
        is_cut=is_cut,
        colours=colours,
        ticks=tuple(_ticks(moments, xs)),
    )


def _lines(frame: Frame, peak: int) -> list[Line]:
    """The window, what of it is usable, and the thresholds of the profile, from the top."""
    limits = {"usable budget": frame.total}
    if frame.context_window <= peak:
        limits["window"] = frame.context_window
    for threshold in frame.policy.thresholds:
        if threshold.action in ("warn", "compact"):
            name = "compaction" if threshold.action == "compact" else "warning"
            limits[name] = min(_limit(threshold, frame), limits.get(name, peak))
    lines, lowest = [], -LABEL_STEP
    for name, tokens in sorted(limits.items(), key=lambda limit: -limit[1]):
        y = _y(tokens, peak)
        lowest = max(y, lowest + LABEL_STEP)
        lines.append(Line(name=name, tokens=tokens, y=y, label_y=lowest))
    return lines


def _ticks(moments: Sequence[Moment], xs: Sequence[int]) -> list[Tick]:
    """The first turn, the last, and a few between them."""
    last = len(moments) - 1
    places = sorted({last * number // (TICKS - 1) for number in range(TICKS)})
    return [Tick(x=xs[place], turn=moments[place].turn.number) for place in places]


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
    marks, taken = [], Counter[int]()
    for signal in signals:
        place = min(bisect_left(times, signal.created_at), len(times) - 1)
        kind, letter = _MARKS[signal.kind]
        removed = _removed(signal)
        if removed is None:
            y, taken[place] = taken[place] * MARK_STEP, taken[place] + 1
        else:
            y = _y(min(removed, peak), peak)
        turn = moments[place].turn.number
        marks.append(Mark(kind=kind, letter=letter, turn=turn, x=xs[place], y=y, removed=removed))
    return marks


def _removed(signal: Signal) -> int | None:
    if signal.kind != "COMPACTED":
        return None
    return int(signal.payload.get("before", 0)) - int(signal.payload.get("after", 0))


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
