"""Allocations per second, beside the same shares in bare arithmetic."""

from __future__ import annotations

from benchmarks.timing import cpu_seconds
from budgets.core.allocation import allocate
from budgets.core.policy import parse_policy
from budgets.core.presets import PRESETS


def rows() -> list[tuple[str, str, str, str]]:
    return [_row("ratio-default"), _row("long-story")]


def _row(preset: str) -> tuple[str, str, str, str]:
    policy = parse_policy(PRESETS[preset].document)
    shares = {section.name: section.size.amount for section in policy.sections}
    ours = cpu_seconds(lambda: allocate(policy, 160_000), times=5_000)
    bare = cpu_seconds(lambda: {name: 160_000 * bp // 10_000 for name, bp in shares.items()}, times=5_000)
    work = f"allocate {preset} ({len(shares)} sections)"
    return (
        work,
        f"{1 / ours:,.0f} per second",
        f"bare floors {1 / bare:,.0f} per second",
        f"{ours / bare:.1f}",
    )
