"""Who lends to whom, in which order, and what can never happen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgets.core.allocation import allocate
from budgets.core.duplication import rendered_size
from budgets.core.lending import lend
from budgets.core.policy import Policy, SectionPolicy, Size


def section(name, tokens, **others):
    return SectionPolicy(name=name, size=Size(kind="fixed", amount=tokens), **others)


def lending_of(sections, wanted):
    policy = Policy(sections=tuple(sections))
    return lend(policy, allocate(policy, 10_000), wanted)


def transfers_of(lending):
    return [(transfer.lender, transfer.borrower, transfer.tokens) for transfer in lending.transfers]


GOAL = section("goal", 100, priority=10)
MEMORY = section("memory", 100, priority=20)
RECENT = section("recent", 100, priority=80, borrows=True)
SYSTEM = section("system", 100, priority=90, borrows=True)


@pytest.mark.parametrize(
    ("sections", "wanted", "expected"),
    [
        # enough for all: nobody borrows
        ([GOAL, RECENT], {"goal": 50, "recent": 100}, []),
        # the need is less than what is spare
        ([GOAL, RECENT], {"goal": 50, "recent": 130}, [("goal", "recent", 30)]),
        # the spare is less than the need
        ([GOAL, RECENT], {"goal": 50, "recent": 900}, [("goal", "recent", 50)]),
        # the least important lender gives first
        (
            [MEMORY, GOAL, RECENT],
            {"goal": 50, "memory": 0, "recent": 180},
            [("goal", "recent", 50), ("memory", "recent", 30)],
        ),
        # the most important borrower asks first
        (
            [GOAL, RECENT, SYSTEM],
            {"goal": 0, "recent": 180, "system": 170},
            [("goal", "system", 70), ("goal", "recent", 30)],
        ),
        # who may not borrow does not
        ([GOAL, MEMORY], {"goal": 0, "memory": 200}, []),
        # who may not lend does not
        ([section("goal", 100, lends=False), RECENT], {"goal": 0, "recent": 200}, []),
        # a reserve is never lent
        ([section("goal", 100, fill="reserve"), RECENT], {"goal": 0, "recent": 200}, []),
        # nothing is known about a section that says nothing: it keeps its tokens
        ([GOAL, RECENT], {"recent": 200}, []),
        # a borrower stops at its maximum
        (
            [GOAL, section("recent", 100, borrows=True, max_tokens=110)],
            {"goal": 0, "recent": 200},
            [("goal", "recent", 10)],
        ),
        # a borrower that needs less lends like any other
        ([RECENT, SYSTEM], {"recent": 40, "system": 120}, [("recent", "system", 20)]),
    ],
)
def test_it_lends_by_priority_and_lists_every_transfer(sections, wanted, expected):
    assert transfers_of(lending_of(sections, wanted)) == expected


def test_the_sections_show_what_was_lent_and_borrowed():
    lending = lending_of([GOAL, RECENT], {"goal": 50, "recent": 130})

    assert lending.sections == {"goal": 70, "recent": 130}
    assert lending.borrowed("recent") == lending.lent("goal") == 30
    assert lending.borrowed("goal") == lending.lent("recent") == 0


def test_a_section_that_is_rendered_twice_gains_less_content_than_it_borrows():
    twice = SectionPolicy(name="story", size=Size(kind="rest"), duplication_bp=20_500, borrows=True)
    policy = Policy(sections=(section("goal", 4100), twice))
    lending = lend(policy, allocate(policy, 8200), {"goal": 0, "story": 4000})

    assert lending.sections == {"goal": 0, "story": 4000}
    assert lending.borrowed("story") == 4100


@st.composite
def cases(draw):
    sections = [
        SectionPolicy(
            name=f"s{index}",
            size=Size(kind="rest") if index == 0 else Size(kind="fixed", amount=draw(st.integers(0, 500))),
            duplication_bp=draw(st.sampled_from([10_000, 20_500])) if index == 0 else 10_000,
            max_tokens=draw(st.sampled_from([None, 600])),
            lends=draw(st.booleans()),
            borrows=draw(st.booleans()),
            priority=draw(st.integers(0, 3)),
        )
        for index in range(draw(st.integers(1, 6)))
    ]
    wanted = draw(st.dictionaries(st.sampled_from([s.name for s in sections]), st.integers(0, 1500)))
    return Policy(sections=tuple(sections)), draw(st.integers(0, 4000)), wanted


@given(cases())
def test_lending_moves_tokens_and_never_makes_or_starves_any(case):
    policy, total, wanted = case
    allocation = allocate(policy, total)
    lending = lend(policy, allocation, wanted)

    assert sum(rendered_size(s, lending.sections[s.name]) for s in policy.sections) <= total
    for row in policy.sections:
        before, after = allocation.sections[row.name], lending.sections[row.name]
        assert after >= min(before, wanted.get(row.name, before))  # a lender keeps what it wants
        assert after <= max(before, wanted.get(row.name, before))  # a borrower takes what it wants
        assert row.max_tokens is None or after <= row.max_tokens


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_sections_does_not_matter_to_lending(case, random):
    policy, total, wanted = case
    shuffled = list(policy.sections)
    random.shuffle(shuffled)
    mixed = Policy(sections=tuple(shuffled))

    assert lend(mixed, allocate(mixed, total), wanted) == lend(policy, allocate(policy, total), wanted)
