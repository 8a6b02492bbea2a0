"""The three calculations on plain ratio budgets: calculate, adjust, available.

A budget is a flat table of tokens per section with its `total` beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from budgets.core.basis_points import WHOLE_BP, share_of
from budgets.core.errors import NegativeTokens, SharesInvalid, UnknownSection, ZeroTotal

TOTAL = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class Available:
    """What is left; over-use is negative, and `over` says that some of it is."""

    total: int
    sections: Mapping[str, int]
    over: bool


def calculate_budget(total: int, shares_bp: Mapping[str, int]) -> dict[str, int]:
    _refuse_negative(total, "/total")
    refuse_bad_shares(shares_bp)
    return {TOTAL: total, **{name: share_of(total, share) for name, share in shares_bp.items()}}


def adjust_budget(budget: Mapping[str, int], new_total: int) -> dict[str, int]:
    """Scales what is there. It drifts when repeated, so sessions calculate afresh from their policy."""
    _refuse_negative(new_total, "/new_total")
    for name, tokens in budget.items():
        _refuse_negative(tokens, f"/budget/{name}")
    old_total = budget.get(TOTAL, 0)
    if old_total == 0:
        raise ZeroTotal("A budget whose total is 0 cannot be scaled.", pointer="/budget/total")
    scaled = {name: tokens * new_total // old_total for name, tokens in budget.items()}
    return {**scaled, TOTAL: new_total}


def available(budget: Mapping[str, int], used: Mapping[str, int]) -> Available:
    for name, tokens in used.items():
        _refuse_negative(tokens, f"/used/{name}")
        if name not in budget and name != TOTAL:
            raise UnknownSection(f"The budget has no section {name!r}.", pointer=f"/used/{name}")
    parts = {name: tokens - used.get(name, 0) for name, tokens in budget.items() if name != TOTAL}
    spent = used.get(TOTAL, sum(tokens for name, tokens in used.items() if name != TOTAL))
    total = budget.get(TOTAL, 0) - spent
    return Available(total=total, sections=parts, over=total < 0 or any(left < 0 for left in parts.values()))


def _refuse_negative(tokens: int, pointer: str) -> None:
    if tokens < 0:
        raise NegativeTokens("Tokens cannot be negative.", pointer=pointer)


def refuse_bad_shares(shares_bp: Mapping[str, int]) -> None:
    for name, share in shares_bp.items():
        if share < 0:
            raise SharesInvalid(f"The share of {name} is negative.", pointer=f"/shares/{name}")
        if name == TOTAL:
            raise SharesInvalid("total is a reserved name.", pointer=f"/shares/{name}")
    given = sum(shares_bp.values())
    if given > WHOLE_BP:
        raise SharesInvalid(
            f"The shares sum to {given // 100}.{given % 100:02d} %, at most 100 % can be given.",
            pointer="/shares",
        )
