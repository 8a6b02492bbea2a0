"""Replays the last week's turns under another policy: how many would have been over, and when to compact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from budgets.core.basis_points import WHOLE_BP
from budgets.core.policy import Policy
from budgets.services.calculations import Compared

Turns = Sequence[tuple[str, int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Of one model: turns over the budget that held then and over the one of the draft."""

    turns: int
    over_then: int
    over_now: int
    compacting_now: int


def replay(policy: Policy, compared: Compared, turns: Turns) -> Replay | None:
    """None where there is nothing to replay, or the draft leaves the model no room at all."""
    mine = [(used, total) for model, used, total in turns if model == compared.row.model]
    window = compared.row.window
    if not mine or window is None:
        return None
    level = _compaction_level(policy, budget=window.max_input, window=window.context_window)
    return Replay(
        turns=len(mine),
        over_then=sum(used > total for used, total in mine),
        over_now=sum(used > window.max_input for used, _ in mine),
        compacting_now=sum(used > level for used, _ in mine),
    )


def _compaction_level(policy: Policy, *, budget: int, window: int) -> int:
    levels = [
        threshold.at
        if threshold.basis == "tokens"
        else threshold.at * (window if threshold.basis == "window" else budget) // WHOLE_BP
        for threshold in policy.thresholds
        if threshold.action == "compact"
    ]
    return min([*levels, budget])
