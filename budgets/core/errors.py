"""Everything a budget rule can refuse, each with a stable code and the field that caused it.

BudgetRuleError
├── PolicyInvalid        policy_invalid       the policy document breaks its schema or its own arithmetic
├── SharesInvalid        shares_invalid       shares that are negative or pass 100 %
├── NegativeTokens       negative_tokens      a token count below zero
├── ZeroTotal            zero_total           a budget of nothing cannot be scaled
├── UnknownSection       unknown_section      usage for a section that the budget does not have
├── UnknownMode          unknown_mode         an output mode that the window policy does not name
└── NoInputRoom          context_too_large    safety and output reserve leave no token for input
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One reason for a refusal, with the JSON pointer of the field."""

    pointer: str
    detail: str


class BudgetRuleError(ValueError):
    code = "budget_rule"

    def __init__(self, detail: str, *, pointer: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.pointer = pointer


class PolicyInvalid(BudgetRuleError):
    code = "policy_invalid"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(f"{first.pointer or '/'}: {first.detail}", pointer=first.pointer)


class SharesInvalid(BudgetRuleError):
    code = "shares_invalid"


class NegativeTokens(BudgetRuleError):
    code = "negative_tokens"


class ZeroTotal(BudgetRuleError):
    code = "zero_total"


class UnknownSection(BudgetRuleError):
    code = "unknown_section"


class UnknownMode(BudgetRuleError):
    code = "unknown_mode"


class NoInputRoom(BudgetRuleError):
    code = "context_too_large"

    def __init__(self, *, context_window: int, safe: int, output_reserve: int) -> None:
        self.context_window = context_window
        self.safe = safe
        self.output_reserve = output_reserve
        self.max_input = 0
        super().__init__(
            f"No room for input: of a window of {context_window:,} tokens {safe:,} are safe to use, "
            f"and the output reserve takes {output_reserve:,}.",
            pointer="/window",
        )
