"""Unused tokens of one section for another that needs them, by priority, with every transfer listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from budgets.core.duplication import content_of, rendered_size
from budgets.core.policy import Policy, SectionPolicy

if TYPE_CHECKING:
    from budgets.core.allocation import Allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """tokens of the window: a section that is rendered twice gains less content than it borrows."""

    lender: str
    borrower: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lending:
    sections: Mapping[str, int]
    transfers: tuple[Transfer, ...]

    def borrowed(self, name: str) -> int:
        return sum(transfer.tokens for transfer in self.transfers if transfer.borrower == name)

    def lent(self, name: str) -> int:
        return sum(transfer.tokens for transfer in self.transfers if transfer.lender == name)


def lend(policy: Policy, allocation: Allocation, wanted: Mapping[str, int]) -> Lending:
    """The most important borrower asks first, the least important lender gives first.

    A section that is missing in `wanted` neither lends nor borrows.
    """
    spare = {section.name: _spare(section, allocation, wanted) for section in policy.sections}
    transfers: list[Transfer] = []
    for borrower in sorted(policy.sections, key=lambda section: (-section.priority, section.name)):
        need = _need(borrower, allocation, wanted)
        for lender in sorted(policy.sections, key=lambda section: (section.priority, section.name)):
            tokens = min(need, spare[lender.name])
            if tokens > 0:
                transfers.append(Transfer(lender=lender.name, borrower=borrower.name, tokens=tokens))
                spare[lender.name] -= tokens
                need -= tokens
    return Lending(sections=_after(policy, allocation, transfers), transfers=tuple(transfers))


def _spare(section: SectionPolicy, allocation: Allocation, wanted: Mapping[str, int]) -> int:
    planned = allocation.sections[section.name]
    if not section.lends or section.fill == "reserve":
        return 0
    unused = rendered_size(section, planned) - rendered_size(section, wanted.get(section.name, planned))
    return max(unused, 0)


def _need(section: SectionPolicy, allocation: Allocation, wanted: Mapping[str, int]) -> int:
    planned = allocation.sections[section.name]
    if not section.borrows:
        return 0
    goal = wanted.get(section.name, planned)
    if section.max_tokens is not None:
        goal = min(goal, section.max_tokens)
    return max(rendered_size(section, goal) - rendered_size(section, planned), 0)


def _after(policy: Policy, allocation: Allocation, transfers: list[Transfer]) -> dict[str, int]:
    rooms = {
        section.name: rendered_size(section, allocation.sections[section.name]) for section in policy.sections
    }
    for transfer in transfers:
        rooms[transfer.lender] -= transfer.tokens
        rooms[transfer.borrower] += transfer.tokens
    return {section.name: content_of(section, rooms[section.name]) for section in policy.sections}
