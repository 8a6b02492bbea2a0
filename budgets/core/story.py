"""How the budget of a long story is shared by its start, the summary of its middle, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from budgets.core.basis_points import share_of
from budgets.core.policy_schema import STORY_OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryShares:
    """marker is the rest: the truncation marker and a margin."""

    start: int
    middle: int
    end: int
    marker: int


def story_shares(budget: int, options: Mapping[str, Any] | None = None) -> StoryShares:
    """options of a head_middle_tail section; without a middle its share goes to the end."""
    filled = {**STORY_OPTIONS, **(options or {})}
    start = share_of(budget, filled["start_bp"])
    if filled["middle"]:
        middle, end = share_of(budget, filled["middle_bp"]), share_of(budget, filled["end_bp"])
    else:
        middle, end = 0, share_of(budget, filled["middle_bp"] + filled["end_bp"])
    return StoryShares(start=start, middle=middle, end=end, marker=budget - start - middle - end)
