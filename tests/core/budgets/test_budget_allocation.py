"""Allocation of every size kind: tables, then what holds for any policy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgets.core.allocation import allocate
from budgets.core.duplication import rendered_size
from budgets.core.errors import NegativeTokens
from budgets.core.policy import Policy, SectionPolicy, Size, parse_policy
from budgets.core.presets import PRESETS
from budgets.core.window import window_budget


def policy_of(**sizes):
    """A policy from name=(kind, amount, other fields)."""
    return Policy(
        sections=tuple(
            SectionPolicy(name=name, size=Size(kind=kind, amount=amount), **others)
            for name, (kind, amount, others) in sizes.items()
        )
    )


SHARE, FIXED, MEASURED, REST, WORDS = "share", "fixed", "measured", "rest", "words"


@pytest.mark.parametrize(
    ("sizes", "total", "measured", "expected", "unallocated"),
    [
        # shares are floored one by one, the dust is shown
        ({"a": (SHARE, 3333, {}), "b": (SHARE, 3333, {})}, 100, {}, {"a": 33, "b": 33}, 34),
        # a fixed section does not follow the total
        ({"a": (FIXED, 40, {}), "b": (REST, 0, {})}, 100, {}, {"a": 40, "b": 60}, 0),
        # a measured section is as large as its content
        ({"a": (MEASURED, 0, {}), "b": (REST, 0, {})}, 100, {"a": 25}, {"a": 25, "b": 75}, 0),
        # a measured section without content takes nothing
        ({"a": (MEASURED, 0, {}), "b": (REST, 0, {})}, 100, {}, {"a": 0, "b": 100}, 0),
        # words are planned at one and a half tokens
        ({"a": (WORDS, 20, {}), "b": (REST, 0, {})}, 100, {}, {"a": 30, "b": 70}, 0),
        # words that were cut already count as measured
        ({"a": (WORDS, 20, {}), "b": (REST, 0, {})}, 100, {"a": 55}, {"a": 55, "b": 45}, 0),
        # the rest is rendered 2.05 times: floor(100 / 2.05) = 48, of which 99 are rendered
        ({"a": (REST, 0, {"duplication_bp": 20_500})}, 100, {}, {"a": 48}, 1),
        # a minimum lifts a share, the rest pays
        ({"a": (SHARE, 1000, {"min_tokens": 30}), "b": (REST, 0, {})}, 100, {}, {"a": 30, "b": 70}, 0),
        # a maximum caps a share, the rest gains
        ({"a": (SHARE, 5000, {"max_tokens": 20}), "b": (REST, 0, {})}, 100, {}, {"a": 20, "b": 80}, 0),
        # a maximum on the rest leaves tokens unallocated
        ({"a": (REST, 0, {"max_tokens": 20})}, 100, {}, {"a": 20}, 80),
        # nothing to give
        ({"a": (SHARE, 5000, {}), "b": (FIXED, 10, {})}, 0, {}, {"a": 0, "b": 0}, 0),
    ],
)
def test_it_sizes_every_kind_of_section(sizes, total, measured, expected, unallocated):
    allocation = allocate(policy_of(**sizes), total, measured)

    assert allocation.sections == expected
    assert allocation.unallocated == unallocated


@pytest.mark.parametrize(
    ("sizes", "total", "expected", "shortfall"),
    [
        # fixed goes before shares
        ({"a": (SHARE, 9000, {}), "b": (FIXED, 50, {})}, 100, {"a": 50, "b": 50}, {"a": 40}),
        # among equals the higher priority is served first
        (
            {"a": (FIXED, 80, {"priority": 1}), "b": (FIXED, 80, {"priority": 2})},
            100,
            {"a": 20, "b": 80},
            {"a": 60},
        ),
        # minimums go before everything that is asked beyond them
        (
            {"a": (FIXED, 80, {}), "b": (REST, 0, {"min_tokens": 30})},
            100,
            {"a": 70, "b": 30},
            {"a": 10},
        ),
        # the rest is short only of its minimum
        ({"a": (FIXED, 100, {}), "b": (REST, 0, {})}, 100, {"a": 100, "b": 0}, {}),
        # even minimums may not fit
        (
            {"a": (FIXED, 80, {"min_tokens": 80}), "b": (REST, 0, {"min_tokens": 30})},
            100,
            {"a": 80, "b": 20},
            {"b": 10},
        ),
    ],
)
def test_it_names_what_a_small_total_cannot_give(sizes, total, expected, shortfall):
    allocation = allocate(policy_of(**sizes), total)

    assert allocation.sections == expected
    assert allocation.shortfall == shortfall
    assert allocation.fits is not bool(shortfall)


def test_the_rest_does_not_shrink_where_all_shares_gain_a_token():
    tenths = {f"share_{n}": (SHARE, 1000, {}) for n in range(5)}
    policy = policy_of(**tenths, rest=(REST, 0, {}))

    # From 9 to 10 every share goes from 0 to 1: the rest waits with what they are about to take.
    assert allocate(policy, 9).sections["rest"] == 4
    assert allocate(policy, 10).sections["rest"] == 5
    assert allocate(policy, 9).unallocated == 5


def test_a_squeezed_share_does_not_shrink_where_the_shares_before_it_gain_a_token():
    tenths = {f"share_{n}": (SHARE, 3000, {"priority": 9 - n}) for n in range(3)}
    policy = policy_of(fixed=(FIXED, 3, {}), **tenths)
    given = [allocate(policy, total).sections["share_2"] for total in range(40)]

    assert given == sorted(given)
    assert given[20] == 5  # 20 less 3 fixed, less 6 and 6 for the shares before it


def test_it_tells_the_raw_scaffold_from_the_reserves():
    sizes = {"system_prompt": (MEASURED, 0, {}), "entities": (FIXED, 10_500, {}), "story": (REST, 0, {})}
    allocation = allocate(policy_of(**sizes), 94_372, {"system_prompt": 10_000})

    assert allocation.scaffold_raw_tokens == 10_000
    assert allocation.scaffold_reserve_tokens == 10_500
    assert allocation.scaffold_tokens == 20_500


def test_it_keeps_the_word_limits_beside_their_planned_tokens():
    allocation = allocate(parse_policy(PRESETS["compact-chat"].document), 26_214)

    assert allocation.words == {"memory": 300, "conversation_summary": 500, "recent_messages": 2500}
    assert allocation.sections["recent_messages"] == 3750


@pytest.mark.parametrize(("total", "measured", "pointer"), [(-1, {}, "/total"), (10, {"a": -1}, "/measured")])
def test_it_refuses_negative_tokens(total, measured, pointer):
    with pytest.raises(NegativeTokens) as refusal:
        allocate(policy_of(a=(MEASURED, 0, {})), total, measured)

    assert refusal.value.pointer == pointer


# What holds for any policy

TOTALS = st.integers(0, 10**6)


@st.composite
def policies(draw):
    count = draw(st.integers(1, 7))
    kinds = draw(st.lists(st.sampled_from([SHARE, FIXED, MEASURED, WORDS]), min_size=count, max_size=count))
    if draw(st.booleans()):
        kinds[draw(st.integers(0, count - 1))] = REST
    left_bp, sections = 10_000, []
    for index, kind in enumerate(kinds):
        amount = (
            draw(st.integers(0, left_bp if kind == SHARE else 20_000)) if kind not in (MEASURED, REST) else 0
        )
        left_bp -= amount if kind == SHARE else 0
        least = draw(st.sampled_from([0, 0, 7, 500]))
        sections.append(
            SectionPolicy(
                name=f"s{index}",
                size=Size(kind=kind, amount=amount),
                min_tokens=least,
                max_tokens=draw(st.sampled_from([None, None, least, least + 1000])),
                duplication_bp=draw(st.sampled_from([10_000, 20_500])) if kind == REST else 10_000,
                priority=draw(st.integers(0, 3)),
            )
        )
    return Policy(sections=tuple(sections))


MEASURES = st.dictionaries(st.sampled_from([f"s{n}" for n in range(7)]), st.integers(0, 5000))


def rendered_sum(policy, sections):
    return sum(rendered_size(section, sections[section.name]) for section in policy.sections)


@given(policies(), TOTALS, MEASURES)
def test_an_allocation_never_passes_its_total_and_adds_up(policy, total, measured):
    allocation = allocate(policy, total, measured)

    assert allocation.unallocated >= 0
    assert all(tokens >= 0 for tokens in allocation.sections.values())
    assert sum(allocation.sections.values()) + allocation.duplicated_tokens + allocation.unallocated == total
    assert rendered_sum(policy, allocation.sections) <= total


@given(policies(), TOTALS, st.integers(0, 40), MEASURES)
def test_a_larger_total_never_gives_any_section_less(policy, total, more, measured):
    small, large = allocate(policy, total, measured), allocate(policy, total + more, measured)

    assert all(large.sections[name] >= tokens for name, tokens in small.sections.items())


@given(policies(), TOTALS, MEASURES, st.randoms(use_true_random=False))
def test_the_order_of_sections_does_not_matter(policy, total, measured, random):
    shuffled = list(policy.sections)
    random.shuffle(shuffled)

    assert allocate(Policy(sections=tuple(shuffled)), total, measured) == allocate(policy, total, measured)


@given(policies(), TOTALS, MEASURES)
def test_limits_hold_whenever_nothing_is_short(policy, total, measured):
    allocation = allocate(policy, total, measured)

    for section in policy.sections:
        tokens = allocation.sections[section.name]
        assert section.max_tokens is None or tokens <= section.max_tokens
        assert tokens >= section.min_tokens or section.name in allocation.shortfall


@given(
    st.sampled_from(sorted(PRESETS)), st.lists(st.sampled_from([4096, 8192, 131_072, 200_000]), max_size=6)
)
def test_switching_models_back_and_forth_equals_computing_afresh(name, windows):
    """One policy serves every switch of a session; a fresh one would show whatever a switch left behind."""
    kept = parse_policy(PRESETS[name].document)
    for window in windows:
        fresh = parse_policy(PRESETS[name].document)
        before, after = window_budget(fresh.window, window), window_budget(kept.window, window)
        assert allocate(kept, after.max_input) == allocate(fresh, before.max_input)
    assert kept == parse_policy(PRESETS[name].document)
