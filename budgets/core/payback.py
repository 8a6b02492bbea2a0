"""What compacting costs now, what it saves per turn, and after how many turns it has paid for itself."""

from __future__ import annotations

from dataclasses import dataclass

from budgets.core.cost import Price, cost_nano_usd
from budgets.core.usage import TokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Payback:
    """`turns` is None when a turn saves nothing; costs are nano-USD."""

    cost_nano: int
    saves_per_turn_nano: int
    turns: int | None


def payback(
    price: Price | None, *, before_tokens: int, after_tokens: int, summariser_nano: int = 0
) -> Payback | None:
    """None for an unpriced model.

    Before, the prefix is read from the provider's cache at every turn. Compacting changes it: the next
    turn writes the shorter one, later turns read it. Price tiers follow the size of each prompt.
    """
    read_before = cost_nano_usd(TokenUsage(cache_read_tokens=before_tokens), price)
    read_after = cost_nano_usd(TokenUsage(cache_read_tokens=after_tokens), price)
    write_after = cost_nano_usd(TokenUsage(cache_write_5m_tokens=after_tokens), price)
    if read_before is None or read_after is None or write_after is None:
        return None
    cost = summariser_nano + max(0, write_after - read_after)
    saves = read_before - read_after
    return Payback(cost_nano=cost, saves_per_turn_nano=saves, turns=-(-cost // saves) if saves > 0 else None)
