"""What reported usage teaches about a counter: the ratio, how far it spreads, and whether it has moved."""

from collections.abc import Sequence
from dataclasses import dataclass

FULL_BP = 10_000
# Fewer pairs than this say nothing about a tokenizer.
MINIMUM_PAIRS = 5
# A learned ratio is never taken for an exact count.
MINIMUM_MARGIN_BP = 100
# The newest quarter is compared with the rest to see drift.
RECENT_PART = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """Ratio and margin for `counter_for`; drift compares the newest pairs' ratio with the older ones'."""

    ratio_bp: int
    margin_bp: int
    drift_bp: int
    pairs: int


def calibrate(pairs: Sequence[tuple[int, int]]) -> Calibration | None:
    """Learn from (counted, reported) pairs, oldest first; None while there are too few.

    The ratio is the median, so single odd reports do not move it; the margin covers nine in ten of the pairs.
    """
    usable = ((counted, reported) for counted, reported in pairs if counted > 0)
    ratios = [ratio for counted, reported in usable if (ratio := reported * FULL_BP // counted) > 0]
    if len(ratios) < MINIMUM_PAIRS:
        return None
    ratio_bp = _median(ratios)
    distances = sorted(abs(ratio - ratio_bp) * FULL_BP // ratio_bp for ratio in ratios)
    nine_in_ten = distances[-(-len(distances) * 9 // 10) - 1]
    return Calibration(
        ratio_bp=ratio_bp,
        margin_bp=max(MINIMUM_MARGIN_BP, nine_in_ten),
        drift_bp=_drift_bp(ratios),
        pairs=len(ratios),
    )


def _drift_bp(ratios: Sequence[int]) -> int:
    recent = max(1, len(ratios) // RECENT_PART)
    older, newer = _median(ratios[:-recent]), _median(ratios[-recent:])
    return (newer - older) * FULL_BP // older


def _median(values: Sequence[int]) -> int:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle] + 1) // 2
