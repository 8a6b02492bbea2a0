"""R: ratio budgets, as far as the pure rules prove them. Every figure is the specification's."""

from __future__ import annotations

import copy

import pytest

from budgets.core.allocation import allocate
from budgets.core.comparison import Candidate, compare_models
from budgets.core.errors import ZeroTotal
from budgets.core.messages import (
    budget_used,
    budget_warning,
    compaction_sequence,
    persistent_memory,
    section_usage,
    usage_trend,
)
from budgets.core.policy import parse_policy, problems
from budgets.core.policy_schema import DEFAULT_SHARES_BP
from budgets.core.presets import PRESETS
from budgets.core.pressure import PressureState, level, observe
from budgets.core.ratios import adjust_budget, available, calculate_budget
from budgets.core.usage import mean_tokens, over_budget_count
from budgets.core.window import compaction_memory, compaction_target, window_budget, window_size

NAMES = (
    "system_prompt",
    "goal",
    "memory",
    "working_state",
    "conversation_summary",
    "retrieved_context",
    "recent_messages",
    "scaffolding_reminder",
)
RATIO = parse_policy(PRESETS["ratio-default"].document)


def budget_of(*tokens):
    return dict(zip(("total", *NAMES), tokens, strict=True))


def session_budget(window):
    return allocate(RATIO, window_budget(RATIO.window, window).max_input)


def test_r1_default_shares_are_integers_in_basis_points():
    assert dict(zip(NAMES, (1500, 500, 1000, 500, 1500, 1000, 3500, 500), strict=True)) == DEFAULT_SHARES_BP
    assert sum(DEFAULT_SHARES_BP.values()) == 10_000
    assert {section.name: section.size.amount for section in RATIO.sections} == DEFAULT_SHARES_BP


@pytest.mark.parametrize(
    "expected",
    [
        (6400, 960, 320, 640, 320, 960, 640, 2240, 320),  # 80 % of 8,000
        (25_600, 3840, 1280, 2560, 1280, 3840, 2560, 8960, 1280),  # 80 % of 32,000
        (102_400, 15_360, 5120, 10_240, 5120, 15_360, 10_240, 35_840, 5120),  # 80 % of 128,000
    ],
)
def test_r2_calculate_budget_floors_every_share(expected):
    budget = calculate_budget(expected[0], DEFAULT_SHARES_BP)

    assert budget == budget_of(*expected)
    assert allocate(RATIO, expected[0]).sections == {name: budget[name] for name in NAMES}


@pytest.mark.parametrize(
    ("window", "total", "memory", "recent"),
    [
        (4096, 3276, 327, 1146),  # gpt-3.5-turbo
        (8192, 6553, 655, 2293),  # gpt-4
        (32_768, 26_214, 2621, 9174),  # gpt-4-32k
        (200_000, 160_000, 16_000, 56_000),  # claude-3-opus
    ],
)
def test_r2_the_budgets_of_the_known_models(window, total, memory, recent):
    allocation = session_budget(window)

    assert allocation.total == total
    assert allocation.sections["memory"] == memory
    assert allocation.sections["recent_messages"] == recent
    assert sum(allocation.sections.values()) + allocation.unallocated == total


def test_r3_adjusting_four_times_the_total_scales_every_section_by_four():
    adjusted = adjust_budget(calculate_budget(6400, DEFAULT_SHARES_BP), 25_600)

    assert adjusted == calculate_budget(25_600, DEFAULT_SHARES_BP)


def test_r3_adjusting_drifts_where_sessions_do_not():
    adjusted = adjust_budget(calculate_budget(6553, DEFAULT_SHARES_BP), 160_000)

    assert adjusted["memory"] == 15_992
    assert session_budget(200_000).sections["memory"] == 16_000


def test_r3_a_total_of_zero_cannot_be_adjusted():
    with pytest.raises(ZeroTotal):
        adjust_budget(calculate_budget(0, DEFAULT_SHARES_BP), 6400)


def test_r4_available_shows_what_is_left_for_a_partial_use():
    left = available(
        calculate_budget(6400, DEFAULT_SHARES_BP), {"system_prompt": 500, "recent_messages": 1500}
    )

    assert left.sections["system_prompt"] == 460
    assert left.sections["recent_messages"] == 740
    assert left.sections["memory"] == 640
    assert left.total == 4400
    assert not left.over


@pytest.mark.parametrize(
    ("used", "section_left", "total_left"),
    [
        ({"goal": 321}, -1, 6079),  # one section over, the total is not
        ({"total": 6401}, 320, -1),  # the total over, no section is
        ({"goal": 400, "total": 500}, -80, 5900),  # a given total wins over the sum
    ],
)
def test_r4_over_use_is_negative_and_said(used, section_left, total_left):
    left = available(calculate_budget(6400, DEFAULT_SHARES_BP), used)

    assert (left.sections["goal"], left.total, left.over) == (section_left, total_left, True)


def test_r5_the_total_is_80_percent_and_the_ratio_is_the_profiles():
    cautious = parse_policy({**PRESETS["ratio-default"].document, "window": {"safety_bp": 7000}})

    assert window_budget(RATIO.window, 8192).max_input == 6553
    assert window_budget(cautious.window, 8192).max_input == 5734


@pytest.mark.parametrize(("preset", "tokens"), [("ratio-default", 32_000), ("stream-coding-agent", 200_000)])
def test_r5_an_unknown_model_takes_the_fallback_and_says_so(preset, tokens):
    size = window_size(parse_policy(PRESETS[preset].document).window, None)

    assert (size.tokens, size.assumed) == (tokens, True)


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (5119, "normal"),  # one token below 80 % of 6400
        (5120, "warning"),  # 80 %
        (5760, "warning"),  # 90 %
        (5761, "critical"),  # above 90 %
    ],
)
def test_r7_levels_include_both_ends_of_the_warning(used, expected):
    assert level(used, RATIO.thresholds, total=6400, window=8000) == expected


def test_r7_hysteresis_cool_down_and_debug_touch_only_what_is_said():
    document = copy.deepcopy(PRESETS["ratio-default"].document)
    document["thresholds"][0].update(clear_bp=7000, cooldown_s=60, debug_only=True)
    quiet = parse_policy(document)
    loud = observe(PressureState(), 5440, RATIO.thresholds, total=6400, window=8000, at=0)
    hushed = observe(PressureState(), 5440, quiet.thresholds, total=6400, window=8000, at=0)

    assert (loud.level, loud.state.flags, loud.due_actions) == (
        hushed.level,
        hushed.state.flags,
        hushed.due_actions,
    )
    assert [signal.name for signal in loud.crossed] == ["BUDGET_WARNING"]
    assert hushed.crossed == ()


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (5440, "[Budget] Warning: 85% of token budget used. 960 tokens remaining."),
        (5300, "[Budget] Warning: 82% of token budget used. 1100 tokens remaining."),  # 82.8 is floored
    ],
)
def test_r8_the_warning_says_the_floored_percentage_and_what_remains(used, expected):
    assert budget_warning(used, 6400) == expected


def test_r8_debug_says_the_total_and_every_section():
    lines = section_usage({"memory": 12}, calculate_budget(6400, {"memory": 1000})).splitlines()

    assert budget_used(5440, 6400) == "[Budget] Used 5440 / 6400 tokens (85%)"
    assert lines[0] == "[Budget] Section usage:"
    assert "  memory: 12 / 640 tokens" in lines


def test_r9_every_fifth_turn_says_the_rounded_mean_of_the_last_five():
    history = [3200, 4100, 4800, 5300, 4100]

    assert usage_trend(5, history) == "[Budget] Last 5 iterations avg: 4300 tokens"
    assert [usage_trend(turn, history[:turn]) for turn in range(1, 5)] == [None] * 4
    assert mean_tokens([]) is None
    assert over_budget_count([(6400, 6400), (6401, 6400)]) == 1


@pytest.mark.parametrize(
    ("preset", "percent"),
    [
        ("ratio-default", (15, 5, 10, 5, 15, 10, 35, 5)),
        ("ratio-code-focused", (10, 5, 5, 10, 10, 10, 45, 5)),
        ("ratio-preference-focused", (15, 5, 15, 5, 10, 10, 35, 5)),  # memory 15, summary 10
        ("ratio-session-focused", (15, 5, 5, 5, 20, 10, 35, 5)),  # memory 5, summary 20
    ],
)
def test_r10_the_ratio_presets(preset, percent):
    policy = parse_policy(PRESETS[preset].document)

    assert {section.name: section.size.amount for section in policy.sections} == {
        name: share * 100 for name, share in zip(NAMES, percent, strict=True)
    }


def test_r10_the_code_focused_preset_gives_recent_messages_2880_of_6400():
    policy = parse_policy(PRESETS["ratio-code-focused"].document)

    assert allocate(policy, 6400).sections["recent_messages"] == 2880


def test_r10_shares_above_100_percent_are_refused_with_the_reason():
    document = copy.deepcopy(PRESETS["ratio-default"].document)
    document["sections"][0]["size"]["share_bp"] += 1

    assert [(problem.pointer, problem.detail) for problem in problems(document)] == [
        ("/sections", "the shares sum to 100.01 %, at most 100 % can be given")
    ]


def test_r11_one_profile_side_by_side_over_any_number_of_models():
    windows = {
        "gpt-3.5-turbo": 4096,
        "gpt-4": 8192,
        "gpt-4-32k": 32_768,
        "claude-3-opus": 200_000,
        "new": None,
    }
    rows = compare_models(
        RATIO, [Candidate(model=name, context_window=size) for name, size in windows.items()]
    )

    assert [(row.model, row.allocation.total, row.allocation.sections["memory"]) for row in rows] == [
        ("gpt-3.5-turbo", 3276, 327),
        ("gpt-4", 6553, 655),
        ("gpt-4-32k", 26_214, 2621),
        ("claude-3-opus", 160_000, 16_000),
        ("new", 25_600, 2560),
    ]
    assert [row.assumed_window for row in rows] == [False] * 4 + [True]


def test_r11_a_model_without_room_is_compared_with_its_refusal():
    story = parse_policy(PRESETS["long-story"].document)
    row = compare_models(story, [Candidate(model="tiny", context_window=1000)])[0]

    assert (row.window, row.allocation) == (None, None)
    assert "output reserve takes 1,024" in row.refusal


def test_r12_the_compressor_gives_memory_a_fifth_of_its_target():
    assert compaction_target(RATIO.compaction, 8192) == 4096
    assert compaction_memory(RATIO.compaction, 8192) == 819
    assert persistent_memory("Prefers tabs.") == "[Persistent Memory]\nPrefers tabs."
    assert persistent_memory("") is None


def test_r15_a_compaction_is_told_in_order():
    assert compaction_sequence(used=5300, total=6400, before=6800, after=5200, chunks=3) == [
        "[Budget] Low budget alert! 1100 tokens remaining (17%)",
        "[Memory] Context threshold reached, compressing...",
        "[Memory] Compressed: 6800 → 5200 tokens (archived 3 chunks)",
        "[Budget] Compressed and adjusted budget for next call",
    ]


@pytest.mark.parametrize(
    ("at_bp", "used", "due"),
    [
        (9000, 5760, False),  # 90 % is not above 90 %
        (9000, 5761, True),
        (8000, 5121, True),  # the profile may choose 80
        (7000, 4481, True),  # or 70
    ],
)
def test_r15_compaction_is_due_above_the_profiles_own_level(at_bp, used, due):
    document = copy.deepcopy(PRESETS["ratio-default"].document)
    document["thresholds"][1]["at_bp"] = at_bp
    seen = observe(PressureState(), used, parse_policy(document).thresholds, total=6400, window=8000, at=0)

    assert ("compact" in seen.due_actions) is due
