"""Tokens per section for one policy and one total: pure arithmetic, the same answer in any order of sections.

Every section asks for a number of tokens. Minimums are served first, then what is asked beyond them, both by
kind (fixed, measured, share, words, rest), then by priority, then by name. The room left is kept in ten
thousandths of a token: rounding each share down on the way would let a larger total give a section less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from budgets.core.basis_points import WHOLE_BP
from budgets.core.duplication import content_of, rendered_size
from budgets.core.errors import NegativeTokens
from budgets.core.lending import Lending as Lending
from budgets.core.lending import Transfer as Transfer
from budgets.core.lending import lend as lend
from budgets.core.policy import Policy, SectionPolicy
from budgets.core.ratios import Available as Available
from budgets.core.ratios import adjust_budget as adjust_budget
from budgets.core.ratios import available as available
from budgets.core.ratios import calculate_budget as calculate_budget

KINDS = ("fixed", "measured", "share", "words", "rest")
# English chat takes 1.3 to 1.5 tokens a word. Only a plan: the limit of such a section is its words.
TOKENS_PER_WORD_BP = 15_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """sections + duplicated_tokens + unallocated = total; shortfall names what the total could not give."""

    total: int
    sections: Mapping[str, int]
    words: Mapping[str, int]
    shortfall: Mapping[str, int]
    duplicated_tokens: int
    unallocated: int
    scaffold_raw_tokens: int
    scaffold_reserve_tokens: int

    @property
    def scaffold_tokens(self) -> int:
        return self.scaffold_raw_tokens + self.scaffold_reserve_tokens

    @property
    def fits(self) -> bool:
        return not self.shortfall


@dataclass(frozen=True, slots=True, kw_only=True)
class _Demand:
    """In ten thousandths of a token."""

    section: SectionPolicy
    least: int
    asked: int


def allocate(policy: Policy, total: int, measured: Mapping[str, int] | None = None) -> Allocation:
    """measured: tokens of the measured sections, and of word-limited ones once they are cut."""
    sizes = measured or {}
    if total < 0 or any(tokens < 0 for tokens in sizes.values()):
        raise NegativeTokens("Tokens cannot be negative.", pointer="/total" if total < 0 else "/measured")
    demands = [_demand(section, total, sizes) for section in sorted(policy.sections, key=_precedence)]
    rooms = _serve(demands, total * WHOLE_BP)
    sections = {section.name: content_of(section, rooms[section.name]) for section in policy.sections}
    rendered = sum(rendered_size(section, sections[section.name]) for section in policy.sections)
    return Allocation(
        total=total,
        sections=sections,
        words={
            section.name: section.size.amount for section in policy.sections if section.size.kind == "words"
        },
        shortfall=_shortfall(demands, sections),
        duplicated_tokens=rendered - sum(sections.values()),
        unallocated=total - rendered,
        scaffold_raw_tokens=_sum_of_kind(policy, sections, "measured"),
        scaffold_reserve_tokens=_sum_of_kind(policy, sections, "fixed"),
    )


def _precedence(section: SectionPolicy) -> tuple[int, int, str]:
    return KINDS.index(section.size.kind), -section.priority, section.name


def _demand(section: SectionPolicy, total: int, measured: Mapping[str, int]) -> _Demand:
    least = rendered_size(section, section.min_tokens) * WHOLE_BP
    asked = max(_asked(section, total, measured), least)
    if section.max_tokens is not None:
        asked = min(asked, rendered_size(section, section.max_tokens) * WHOLE_BP)
    return _Demand(section=section, least=least, asked=asked)


def _asked(section: SectionPolicy, total: int, measured: Mapping[str, int]) -> int:
    match section.size.kind:
        case "share":
            return total * section.size.amount
        case "fixed":
            return section.size.amount * WHOLE_BP
        case "measured":
            return measured.get(section.name, 0) * WHOLE_BP
        case "words":
            planned = section.size.amount * TOKENS_PER_WORD_BP
            return measured[section.name] * WHOLE_BP if section.name in measured else planned
    return total * WHOLE_BP


def _serve(demands: list[_Demand], room: int) -> dict[str, int]:
    """Whole tokens of room per section: first the minimums, then the rest of what is asked."""
    given: dict[str, int] = {}
    for demand in demands:
        given[demand.section.name] = min(demand.least, room)
        room -= given[demand.section.name]
    for demand in demands:
        more = min(demand.asked - demand.least, room)
        given[demand.section.name] += more
        room -= more
    return {name: fine // WHOLE_BP for name, fine in given.items()}


def _shortfall(demands: list[_Demand], sections: Mapping[str, int]) -> dict[str, int]:
    """A section that takes the rest is short only of its minimum."""
    missing = {}
    for demand in demands:
        wanted = demand.least if demand.section.size.kind == "rest" else demand.asked
        content = content_of(demand.section, wanted // WHOLE_BP)
        if sections[demand.section.name] < content:
            missing[demand.section.name] = content - sections[demand.section.name]
    return missing


def _sum_of_kind(policy: Policy, sections: Mapping[str, int], kind: str) -> int:
    return sum(sections[section.name] for section in policy.sections if section.size.kind == kind)
