"""Shares as integers: one basis point is a hundredth of a percent, so no float decides a token."""

from __future__ import annotations

WHOLE_BP = 10_000


def share_of(amount: int, share_bp: int) -> int:
    return amount * share_bp // WHOLE_BP


def ratio_bp(part: int, whole: int) -> int | None:
    """Floored, may pass 10,000; a ratio to nothing is unknown."""
    return part * WHOLE_BP // whole if whole else None


def percent_floored(part: int, whole: int) -> int:
    return part * 100 // whole if whole else 0


def percent_rounded(part: int, whole: int) -> int:
    return rounded_quotient(part * 100, whole) if whole else 0


def rounded_quotient(numerator: int, denominator: int) -> int:
    """Halves go up, as in the messages of the ratio budgets (JavaScript's Math.round)."""
    return (2 * numerator + denominator) // (2 * denominator)
