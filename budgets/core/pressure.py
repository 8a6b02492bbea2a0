"""Pressure: how full a context is, which flags are set, what is said about it. A pure state machine.

The level is stateless. Flags follow the thresholds; a latched one stays until it is cleared. Hysteresis,
cool-down and debug-only decide what is said (signals, messages), never the level, the flags or what is due.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from budgets.core.basis_points import WHOLE_BP
from budgets.core.policy import Threshold
from budgets.core.policy_schema import LEVELS

NORMAL = LEVELS[0]
ACTION_SIGNALS = {"compact": "COMPACT_DUE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PressureState:
    """flags that are set; flags whose crossing was announced; when each one last spoke (epoch seconds)."""

    flags: frozenset[str] = frozenset()
    announced: frozenset[str] = frozenset()
    spoke_at: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    name: str
    flag: str
    level: str
    used: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """speaking: flags whose message is due now; due_actions: of all set flags, most urgent first."""

    state: PressureState
    level: str
    crossed: tuple[Signal, ...]
    speaking: tuple[str, ...]
    due_actions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    used: int
    total: int
    window: int


def level(used: int, thresholds: Sequence[Threshold], *, total: int, window: int) -> str:
    reading = _Reading(used=used, total=total, window=window)
    ranks = [_rank(threshold) for threshold in thresholds if _is_over(threshold, reading)]
    return LEVELS[max(ranks, default=0)]


def observe(
    state: PressureState,
    used: int,
    thresholds: Sequence[Threshold],
    *,
    total: int,
    window: int,
    at: int,
    debug: bool = False,
) -> Observation:
    """at: epoch seconds of this observation, for the cool-down."""
    reading = _Reading(used=used, total=total, window=window)
    over = _flags_over(thresholds, reading)
    flags = _next_flags(state, thresholds, over)
    announced = _still_announced(state, thresholds, over, reading)
    said = [row for row in thresholds if row.flag in over and _may_speak(row, state, announced, at, debug)]
    fresh = [row for row in said if row.flag not in announced]
    return Observation(
        state=PressureState(
            flags=flags,
            announced=announced | {row.flag for row in fresh},
            spoke_at={**state.spoke_at, **{row.flag: at for row in said}},
        ),
        level=level(used, thresholds, total=total, window=window),
        crossed=tuple(signal for row in fresh for signal in _signals(row, reading)),
        speaking=tuple(row.flag for row in said),
        due_actions=due_actions(flags, thresholds),
    )


def clear(state: PressureState, flag: str) -> PressureState:
    """One flag at a time; while the context is still above, the next observation sets it again."""
    return replace(state, flags=state.flags - {flag}, announced=state.announced - {flag})


def due_actions(flags: frozenset[str], thresholds: Sequence[Threshold]) -> tuple[str, ...]:
    urgent = sorted((row for row in thresholds if row.flag in flags), key=lambda row: -_rank(row))
    return tuple(dict.fromkeys(row.action for row in urgent if row.action != "none"))


def dump_state(state: PressureState) -> dict[str, Any]:
    return {
        "flags": sorted(state.flags),
        "announced": sorted(state.announced),
        "spoke_at": dict(sorted(state.spoke_at.items())),
    }


def load_state(document: Mapping[str, Any]) -> PressureState:
    return PressureState(
        flags=frozenset(document.get("flags", ())),
        announced=frozenset(document.get("announced", ())),
        spoke_at=dict(document.get("spoke_at", {})),
    )


def limit_tokens(threshold: Threshold, *, total: int, window: int) -> int:
    """The first whole number of tokens at which the threshold is reached (a strict one: the last before)."""
    if threshold.basis == "tokens":
        return threshold.at
    scaled = threshold.at * _whole(threshold, total, window)
    return scaled // WHOLE_BP if threshold.strict else -(-scaled // WHOLE_BP)


def _flags_over(thresholds: Sequence[Threshold], reading: _Reading) -> frozenset[str]:
    """A more urgent threshold implies every milder one, whatever their bases: compact implies warn."""
    reached = [row for row in thresholds if _is_over(row, reading)]
    top = max((_rank(row) for row in reached), default=0)
    implied = {row.flag for row in thresholds if _rank(row) < top}
    return frozenset(implied | {row.flag for row in reached})


def _next_flags(
    state: PressureState, thresholds: Sequence[Threshold], over: frozenset[str]
) -> frozenset[str]:
    kept = {row.flag for row in thresholds if row.latched and row.flag in state.flags}
    return over | kept


def _still_announced(
    state: PressureState, thresholds: Sequence[Threshold], over: frozenset[str], reading: _Reading
) -> frozenset[str]:
    """Inside the band between the clear level and the threshold nothing changes: no flapping."""
    held = {row.flag for row in thresholds if row.flag in over or not _is_clear(row, reading)}
    return state.announced & held


def _may_speak(
    threshold: Threshold, state: PressureState, announced: frozenset[str], at: int, debug: bool
) -> bool:
    """Once per crossing where there is a clear level, at every observation where there is none."""
    if threshold.debug_only and not debug:
        return False
    if threshold.clear is not None and threshold.flag in announced:
        return False
    spoke_at = state.spoke_at.get(threshold.flag)
    return spoke_at is None or at - spoke_at >= threshold.cooldown_s


def _signals(threshold: Threshold, reading: _Reading) -> list[Signal]:
    limit = limit_tokens(threshold, total=reading.total, window=reading.window)
    names = dict.fromkeys([threshold.signal, ACTION_SIGNALS.get(threshold.action, threshold.signal)])
    return [
        Signal(name=name, flag=threshold.flag, level=threshold.level, used=reading.used, limit=limit)
        for name in names
    ]


def _is_over(threshold: Threshold, reading: _Reading) -> bool:
    used, limit = _scaled(threshold, reading, threshold.at)
    return used > limit if threshold.strict else used >= limit


def _is_clear(threshold: Threshold, reading: _Reading) -> bool:
    """At or below the clear level; without one, as soon as it is no longer over."""
    if threshold.clear is None:
        return True
    used, limit = _scaled(threshold, reading, threshold.clear)
    return used <= limit


def _scaled(threshold: Threshold, reading: _Reading, level_at: int) -> tuple[int, int]:
    """Both sides of the comparison in the same integer unit."""
    if threshold.basis == "tokens":
        return reading.used, level_at
    return reading.used * WHOLE_BP, level_at * _whole(threshold, reading.total, reading.window)


def _whole(threshold: Threshold, total: int, window: int) -> int:
    return window if threshold.basis == "window" else total


def _rank(threshold: Threshold) -> int:
    return LEVELS.index(threshold.level)
