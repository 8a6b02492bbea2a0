"""W: window hierarchy and long stories, as far as the pure rules prove them."""

from __future__ import annotations

import copy

import pytest

from budgets.core.allocation import allocate
from budgets.core.errors import NoInputRoom, UnknownMode
from budgets.core.messages import context_too_large, too_large_remedies
from budgets.core.policy import parse_policy
from budgets.core.presets import PRESETS
from budgets.core.story import StoryShares, story_shares
from budgets.core.window import window_budget

STORY = parse_policy(PRESETS["long-story"].document)


def story_policy(duplication_bp):
    document = copy.deepcopy(PRESETS["long-story"].document)
    rest = next(section for section in document["sections"] if section["size"] == {"rest": True})
    rest["duplication_bp"] = duplication_bp
    return parse_policy(document)


@pytest.mark.parametrize(
    ("window", "mode", "latency_cap", "expected"),
    [
        (131_072, None, None, (117_964, 23_592, 94_372)),  # zai-glm-4.6
        (131_072, "combat", None, (117_964, 24_000, 93_964)),  # combat scenes need more output
        (65_536, None, None, (58_982, 11_796, 47_186)),  # llama-3.3-70b
        (1_000_000, None, None, (900_000, 180_000, 720_000)),
        (1_000_000, None, 300_000, (300_000, 60_000, 240_000)),  # gemini-2.0-flash, capped for latency
        (1_000_000, "combat", 300_000, (300_000, 60_000, 240_000)),  # a fifth is more than combat asks
        (4096, None, None, (3686, 1024, 2662)),  # the absolute minimum for output
    ],
)
def test_w1_a_window_becomes_safe_reserve_and_max_input(window, mode, latency_cap, expected):
    budget = window_budget(STORY.window, window, mode=mode, latency_cap=latency_cap)

    assert (budget.safe, budget.output_reserve, budget.max_input) == expected
    assert budget.mode == (mode or "normal")


def test_w1_an_unknown_mode_is_refused():
    with pytest.raises(UnknownMode):
        window_budget(STORY.window, 131_072, mode="dream")


def test_w1_no_input_room_is_refused_as_too_large():
    with pytest.raises(NoInputRoom) as refusal:
        window_budget(STORY.window, 1024)

    assert refusal.value.code == "context_too_large"


def test_w2_the_scaffold_is_measured_and_the_entity_reserve_is_added():
    measured = {"system_prompt": 6000, "game_state": 2000, "checkpoint_block": 1000, "memory": 1000}
    allocation = allocate(STORY, 94_372, measured)

    assert allocation.scaffold_raw_tokens == 10_000
    assert allocation.scaffold_reserve_tokens == 10_500
    assert allocation.scaffold_tokens == 20_500
    assert allocation.sections["recent_messages"] == 73_872
    assert allocation.unallocated == 0


@pytest.mark.parametrize(
    ("raw", "duplication_bp", "expected"),
    [
        (9500, 20_500, 36_279),  # floor(74372 / 2.05)
        (10_000, 20_500, 36_035),  # floor(73872 / 2.05)
        (10_000, 10_000, 73_872),  # the timeline log is not rendered
    ],
)
def test_w2_a_story_rendered_twice_gets_its_budget_divided(raw, duplication_bp, expected):
    allocation = allocate(story_policy(duplication_bp), 94_372, {"system_prompt": raw})

    assert allocation.sections["recent_messages"] == expected


def test_w2_the_preset_knows_the_targets_of_its_scaffold():
    assert {row.name: row.target_tokens for row in STORY.sections if row.target_tokens} == {
        "system_prompt": (5000, 8000),
        "game_state": (2000, 4000),
        "checkpoint_block": (1000, 2000),
        "memory": (2000, 3000),
    }


def test_w3_the_story_is_shared_by_start_middle_and_end():
    assert story_shares(74_372) == StoryShares(start=18_593, middle=7437, end=44_623, marker=3719)


def test_w3_without_a_middle_its_share_goes_to_the_end():
    assert story_shares(74_372, {"middle": False}) == StoryShares(
        start=18_593, middle=0, end=52_060, marker=3719
    )


def test_w3_the_shares_are_the_profiles():
    assert story_shares(1000, {"start_bp": 1000, "end_bp": 5000}) == StoryShares(
        start=100, middle=100, end=500, marker=300
    )


def test_w6_the_refusal_says_what_is_used_allowed_and_safe():
    window = window_budget(STORY.window, 131_072)
    sentence = context_too_large(
        model="zai-glm-4.6", used=95_622, max_input=window.max_input, safe=window.safe
    )

    assert sentence == (
        "Context too large for model zai-glm-4.6: input uses 95,622 tokens, "
        "max allowed is 94,372 tokens (80% of 117,964)"
    )
    assert too_large_remedies(used=95_622, max_input=94_372)
