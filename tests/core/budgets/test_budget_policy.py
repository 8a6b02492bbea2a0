"""What a policy document may say, what it means when it is silent, and why it is refused."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgets.core.errors import PolicyInvalid
from budgets.core.policy import Size, dump, parse_policy, problems
from budgets.core.presets import PRESETS

GOAL = {"name": "goal", "size": {"share_bp": 500}}
REST = {"name": "recent_messages", "size": {"rest": True}}
WARN = {"flag": "warning", "at_bp": 8000}


def sections(*rows):
    return {"sections": list(rows)}


def thresholds(*rows, **others):
    return {"sections": [GOAL], "thresholds": list(rows), **others}


def story(**options):
    return sections({"name": "story", "size": {"rest": True}, "fill": "head_middle_tail", "options": options})


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (None, ""),  # not an object
        ([], ""),
        ({}, "/sections"),  # no sections said
        (sections(), "/sections"),  # no sections in it
        ({"sections": {"goal": 1}}, "/sections"),  # not a list
        (sections("goal"), "/sections/0"),  # not an object
        (sections({"size": {"rest": True}}), "/sections/0/name"),  # no name
        (sections({"name": "Goal", "size": {"rest": True}}), "/sections/0/name"),  # not a name
        (sections({"name": "a\x00", "size": {"rest": True}}), "/sections/0/name"),  # NUL in a name
        (sections({"name": "total", "size": {"rest": True}}), "/sections/0/name"),  # would hide the total
        (sections(GOAL, GOAL), "/sections/1/name"),  # the same name twice
        (sections({"name": "custom"}), "/sections/0/size"),  # no default for an unknown name
        (sections({"name": "goal", "size": {}}), "/sections/0/size"),  # an empty size
        (sections({"name": "goal", "size": {"share_bp": 1, "rest": True}}), "/sections/0/size"),  # two sizes
        (sections({"name": "goal", "size": {"share_bp": -1}}), "/sections/0/size/share_bp"),  # negative
        (sections({"name": "goal", "size": {"share_bp": 10_001}}), "/sections/0/size/share_bp"),  # 100.01 %
        (sections({"name": "goal", "size": {"share_bp": True}}), "/sections/0/size/share_bp"),  # a boolean
        (sections({"name": "goal", "size": {"share_bp": 5.0}}), "/sections/0/size/share_bp"),  # a float
        (sections({"name": "goal", "size": {"share_bp": "5"}}), "/sections/0/size/share_bp"),  # a string
        (sections({"name": "goal", "size": {"fixed_tokens": 10**12 + 1}}), "/sections/0/size/fixed_tokens"),
        (sections({"name": "goal", "size": {"measured": False}}), "/sections/0/size/measured"),
        (sections({"name": "goal", "size": {"rest": 1}}), "/sections/0/size/rest"),
        ({"unit": "words", **sections({"name": "goal", "size": {"words": 0}})}, "/sections/0/size/words"),
        ({"unit": "words", **sections({"name": "goal", "size": {"words": -3}})}, "/sections/0/size/words"),
        (sections({"name": "goal", "size": {"words": 5}}), "/sections/0/size/words"),  # the unit is tokens
        (sections(GOAL, {"name": "memory", "size": {"share_bp": 9501}}), "/sections"),  # 100.01 % in all
        (sections(REST, {"name": "more", "size": {"rest": True}}), "/sections/1/size/rest"),  # two rests
        (sections({**GOAL, "fill": "magic"}), "/sections/0/fill"),  # an unknown fill
        (sections({**GOAL, "colour": 1}), "/sections/0/colour"),  # an unknown field
        (sections({**GOAL, "a/b~c": 1}), "/sections/0/a~1b~0c"),  # escaped as JSON pointers are
        (sections({**GOAL, "min_tokens": 5, "max_tokens": 4}), "/sections/0/max_tokens"),
        (sections({**GOAL, "lends": 1}), "/sections/0/lends"),  # an integer for a boolean
        (sections({**GOAL, "duplication_bp": 9999}), "/sections/0/duplication_bp"),  # less than once
        (sections({**GOAL, "duplication_bp": 20_500}), "/sections/0/duplication_bp"),  # only the rest may
        (sections({**GOAL, "purpose": "\ud800"}), "/sections/0/purpose"),  # a lone surrogate
        (sections({**GOAL, "purpose": "x" * 501}), "/sections/0/purpose"),  # too long
        (sections({**GOAL, "target_tokens": [2, 1]}), "/sections/0/target_tokens"),
        (sections({**GOAL, "target_tokens": [2]}), "/sections/0/target_tokens"),
        (sections({**GOAL, "options": {"start_bp": 1}}), "/sections/0/options/start_bp"),  # another fill's
        (sections({**GOAL, "options": []}), "/sections/0/options"),
        (
            sections({**REST, "fill": "sticky_tail", "options": {"low_water_bp": 0}}),
            "/sections/0/options/low_water_bp",
        ),
        (sections({**GOAL, "fill": "reserve", "lends": True}), "/sections/0/lends"),  # a reserve is kept
        (story(start_bp=5000), "/sections/0/options"),  # 50 + 10 + 60 %
        (story(min_end=21), "/sections/0/options/min_end"),  # above its cap
        (story(middle="no"), "/sections/0/options/middle"),
        (thresholds({"at_bp": 8000}), "/thresholds/0/flag"),  # no flag
        (thresholds({"flag": "warning"}), "/thresholds/0"),  # no level to reach
        (thresholds({**WARN, "at_tokens": 5}), "/thresholds/0"),  # two of them
        (thresholds({**WARN, "basis": "tokens"}), "/thresholds/0/basis"),  # basis points of what
        (thresholds({"flag": "warning", "basis": "window", "at_tokens": 5}), "/thresholds/0/basis"),
        (thresholds({**WARN, "at_bp": 0}), "/thresholds/0/at_bp"),  # always on
        (thresholds({**WARN, "clear_bp": 8001}), "/thresholds/0/clear_bp"),  # clear above warn
        (thresholds({**WARN, "clear_tokens": 1}), "/thresholds/0/clear_tokens"),  # another unit
        (thresholds({"flag": "w", "at_tokens": 9, "clear_tokens": 10}), "/thresholds/0/clear_tokens"),
        (thresholds(WARN, WARN), "/thresholds/1/flag"),  # one flag, two thresholds
        (thresholds({**WARN, "level": "normal"}), "/thresholds/0/level"),  # nothing to say
        (thresholds({**WARN, "signal": "HELLO"}), "/thresholds/0/signal"),
        (thresholds({**WARN, "action": "explode"}), "/thresholds/0/action"),
        (thresholds({**WARN, "cooldown_s": -1}), "/thresholds/0/cooldown_s"),
        # below what is in every context: base load, or base load and fixed sections
        (thresholds({"flag": "w", "at_tokens": 1999}, base_load_tokens=2000), "/thresholds/0/at_tokens"),
        (
            {
                "base_load_tokens": 2000,
                "sections": [{"name": "entities", "size": {"fixed_tokens": 10_500}}],
                "thresholds": [{"flag": "w", "at_tokens": 12_499}],
            },
            "/thresholds/0/at_tokens",
        ),
        ({**sections(GOAL), "unit": "pages"}, "/unit"),
        ({**sections(GOAL), "window": {"safety_bp": 0}}, "/window/safety_bp"),
        ({**sections(GOAL), "window": {"safety": 9000}}, "/window/safety"),
        ({**sections(GOAL), "window": {"fallback_tokens": 0}}, "/window/fallback_tokens"),
        (
            {**sections(GOAL), "window": {"output_reserve": {"modes": {"combat": -1}}}},
            "/window/output_reserve/modes/combat",
        ),
        (
            {**sections(GOAL), "window": {"output_reserve": {"modes": {"A B": 1}}}},
            "/window/output_reserve/modes/A B",
        ),
        ({**sections(GOAL), "window": {"output_reserve": {"modes": [1]}}}, "/window/output_reserve/modes"),
        ({**sections(GOAL), "dedupe": {"summary_against_memory": 1}}, "/dedupe/summary_against_memory"),
        ({**sections(GOAL), "compaction": {"mode": "magic"}}, "/compaction/mode"),
        ({**sections(GOAL), "compaction": {"max_payback_turns": 0}}, "/compaction/max_payback_turns"),
        ({**sections(GOAL), "interventions": {"compact": 5}}, "/interventions/compact"),
        (
            {**sections(GOAL), "interventions": {"compact": "{task.__class__} {user}"}},
            "/interventions/compact",
        ),
        ({**sections(GOAL), "dead_ends": {"repeats": 1}}, "/dead_ends/repeats"),
        ({**sections(GOAL), "triggers": {"subagents_complete": True}}, "/triggers/subagents_complete"),
        ({**sections(GOAL), "base_load_tokens": -1}, "/base_load_tokens"),
    ],
)
def test_it_refuses_a_bad_policy_and_points_at_the_field(document, pointer):
    found = problems(document)

    assert [problem.pointer for problem in found] == [pointer]
    with pytest.raises(PolicyInvalid) as refusal:
        parse_policy(document)
    assert refusal.value.pointer == pointer
    assert refusal.value.problems == tuple(found)


def test_it_reports_every_problem_of_a_document_at_once():
    document = {"unit": "pages", "sections": [{"name": "A"}, {**GOAL, "fill": "magic"}]}

    assert {problem.pointer for problem in problems(document)} == {
        "/unit",
        "/sections/0/name",
        "/sections/1/fill",
    }


@pytest.mark.parametrize(
    "document",
    [
        sections(GOAL, {"name": "memory", "size": {"share_bp": 9500}}),  # exactly 100 %
        thresholds({**WARN, "clear_bp": 8000}),  # clear at the level itself
        thresholds({**WARN, "clear_bp": None, "clear_tokens": None}),  # said to be absent
        thresholds({"flag": "w", "at_tokens": 2000}, base_load_tokens=2000),  # at the overhead, not below
        thresholds(),  # no thresholds on purpose
    ],
)
def test_it_accepts_what_is_just_inside_the_rules(document):
    assert problems(document) == []


def test_a_silent_document_gets_the_defaults():
    policy = parse_policy({"sections": [{"name": "memory"}]})

    assert policy.window.safety_bp == 8000
    assert policy.window.fallback_tokens == 32_000
    assert policy.sections[0].size == Size(kind="share", amount=1000)
    assert policy.sections[0].lends
    assert [threshold.flag for threshold in policy.thresholds] == ["warning", "compact"]
    assert policy.compaction.target_bp == 5000
    assert policy.dead_ends.repeats == 3


def test_a_threshold_takes_its_basis_and_signal_from_what_it_says():
    policy = parse_policy(
        thresholds({"flag": "full", "level": "critical", "at_tokens": 5}, {"flag": "half", "at_bp": 5000})
    )

    assert [(row.basis, row.signal) for row in policy.thresholds] == [
        ("tokens", "BUDGET_CRITICAL"),
        ("budget", "BUDGET_WARNING"),
    ]


def test_a_reserve_keeps_its_tokens_unless_told_otherwise():
    policy = parse_policy(sections({**GOAL, "fill": "reserve"}))

    assert not policy.sections[0].lends


def test_sections_are_found_by_name():
    policy = parse_policy(sections(GOAL))

    assert policy.section("goal") is policy.sections[0]
    assert policy.section("gaol") is None


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_survives_storage_as_json(name):
    document = copy.deepcopy(PRESETS[name].document)
    policy = parse_policy(document)
    stored = json.loads(json.dumps(dump(policy)))

    assert parse_policy(stored) == policy
    assert dump(parse_policy(stored)) == stored
    assert document == PRESETS[name].document


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_explains_itself_and_every_section(name):
    preset = PRESETS[name]

    assert preset.name == name
    assert preset.title
    assert preset.explanation.endswith(".")
    assert all(row["purpose"].endswith(".") for row in preset.document["sections"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged_presets(draw):
    """A preset with one value anywhere replaced by something else."""
    document = copy.deepcopy(PRESETS[draw(st.sampled_from(sorted(PRESETS)))].document)
    node = document
    while True:
        key = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        if not isinstance(node[key], dict | list) or not node[key] or draw(st.integers(0, 4)) == 0:
            node[key] = draw(JSON)
            return document
        node = node[key]


@given(damaged_presets() | JSON)
def test_any_document_is_either_parsed_or_refused_with_reasons(document):
    found = problems(document)
    if found:
        assert all(problem.detail for problem in found)
    else:
        assert parse_policy(dump(parse_policy(document))) == parse_policy(document)
