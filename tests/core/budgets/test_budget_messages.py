"""The sentences, including those at the edges of the figures in the specification."""

from __future__ import annotations

import pytest

from budgets.core.messages import (
    budget_used,
    budget_warning,
    compact_intervention,
    context_too_large,
    fill_template,
    low_budget,
    persistent_memory,
    section_usage,
    too_large_remedies,
    usage_trend,
)
from budgets.core.policy import InterventionTemplates

TEMPLATES = InterventionTemplates()


@pytest.mark.parametrize(
    ("used", "total", "expected"),
    [
        (5571, 6553, "[Budget] Warning: 85% of token budget used. 982 tokens remaining."),
        # over-use is said as it is
        (6500, 6400, "[Budget] Warning: 101% of token budget used. -100 tokens remaining."),
        # a budget of nothing has no percentage to divide by
        (5, 0, "[Budget] Warning: 0% of token budget used. -5 tokens remaining."),
    ],
)
def test_the_warning_floors_its_percentage(used, total, expected):
    assert budget_warning(used, total) == expected


@pytest.mark.parametrize(
    ("used", "total", "expected"),
    [
        (5300, 6400, "1100 tokens remaining (17%)"),  # 17.19
        (835, 1000, "165 tokens remaining (17%)"),  # 16.5 goes up
        (836, 1000, "164 tokens remaining (16%)"),  # 16.4 goes down
        (1100, 1000, "-100 tokens remaining (-10%)"),
    ],
)
def test_the_low_budget_alert_rounds_its_percentage(used, total, expected):
    assert low_budget(used, total) == f"[Budget] Low budget alert! {expected}"


def test_section_usage_has_a_line_for_every_planned_section():
    assert section_usage({"memory": 200}, {"system_prompt": 960, "memory": 640}) == (
        "[Budget] Section usage:\n  system_prompt: 0 / 960 tokens\n  memory: 200 / 640 tokens"
    )


@pytest.mark.parametrize(
    ("turn", "history", "expected"),
    [
        (5, [3200, 4100, 4800, 5300, 4100], 4300),  # the whole history
        (10, [9999] * 5 + [1, 2, 3, 4, 5], 3),  # the last five only
        (5, [1, 2], 2),  # 1.5 goes up
        (4, [1, 2, 3, 4], None),  # not a fifth turn
        (0, [1], None),  # before the first turn
        (5, [], None),  # no history
    ],
)
def test_the_trend_is_said_at_every_fifth_turn(turn, history, expected):
    sentence = f"[Budget] Last 5 iterations avg: {expected} tokens" if expected is not None else None

    assert usage_trend(turn, history) == sentence


def test_debug_line_floors_like_the_warning():
    assert budget_used(5300, 6400) == "[Budget] Used 5300 / 6400 tokens (82%)"


@pytest.mark.parametrize("memory", ["", "  \n"])
def test_empty_memory_is_not_injected(memory):
    assert persistent_memory(memory) is None


def test_the_refusal_computes_its_percentage():
    combat = context_too_large(model="m", used=95_622, max_input=93_964, safe=117_964)

    assert combat.endswith("max allowed is 93,964 tokens (79% of 117,964)")


def test_the_remedies_begin_with_the_number_to_save_and_leave_the_model_to_the_caller():
    remedies = too_large_remedies(used=95_622, max_input=94_372)

    assert "1,250 tokens" in remedies[0]
    assert any("yourself" in remedy for remedy in remedies)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"task": "tests", "state": "PLAN"}, "/compact focus on tests -- current CfA state is PLAN"),
        ({"task": "tests"}, "/compact focus on tests"),  # no state: no clause about it
        ({"state": "PLAN"}, "/compact current CfA state is PLAN"),  # no task: no focus
        ({"task": "", "state": None}, "/compact"),  # empty is absent
        (
            {"task": "tests", "scratch_path": ".context/scratch.md"},
            "/compact focus on tests\nAfter compaction, read .context/scratch.md for preserved context.",
        ),
        # a task that looks like a template or has the separator in it stays text
        (
            {"task": "{state} -- x", "state": "PLAN"},
            "/compact focus on {state} -- x -- current CfA state is PLAN",
        ),
    ],
)
def test_the_compact_intervention_drops_the_clause_of_what_is_absent(values, expected):
    assert compact_intervention(TEMPLATES, **values) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("Compact now.", "Compact now."),  # no command, no placeholder
        ("Work on {task} -- state {state}", "Work on T"),  # no command in front
        ("/clear", "/clear"),  # nothing but a command
        ("Keep braces { } and {}", "Keep braces { } and {}"),  # not placeholders
    ],
)
def test_the_template_is_the_profiles(template, expected):
    assert fill_template(template, {"task": "T", "state": None}) == expected
