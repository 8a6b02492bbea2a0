"""Token usage in one canonical form, whatever the provider reports.

input_tokens are the uncached ones; cache reads and writes stand beside them; reasoning is a part of output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from budgets.core.basis_points import rounded_quotient
from budgets.core.errors import NegativeTokens

TREND_TURNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0

    def __post_init__(self) -> None:
        for counter in fields(self):
            if getattr(self, counter.name) < 0:
                raise NegativeTokens("Tokens cannot be negative.", pointer=f"/{counter.name}")

    @property
    def prompt_tokens(self) -> int:
        written = self.cache_write_5m_tokens + self.cache_write_1h_tokens
        return self.input_tokens + self.cache_read_tokens + written

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.output_tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_5m_tokens=self.cache_write_5m_tokens + other.cache_write_5m_tokens,
            cache_write_1h_tokens=self.cache_write_1h_tokens + other.cache_write_1h_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


def mean_tokens(history: Sequence[int]) -> int | None:
    """Rounded, halves up; no history has no mean."""
    return rounded_quotient(sum(history), len(history)) if history else None


def recent_mean(history: Sequence[int]) -> int | None:
    """The mean of the last five turns, or of as many as there are."""
    return mean_tokens(history[-TREND_TURNS:])


def over_budget_count(turns: Sequence[tuple[int, int]]) -> int:
    """turns are (used, total); only strictly more than the total is over."""
    return sum(used > total for used, total in turns)
