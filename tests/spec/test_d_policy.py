"""D1: the word limits of a compact chat and their defaults."""

from __future__ import annotations

import copy

import pytest

from budgets.core.allocation import allocate
from budgets.core.policy import Size, parse_policy, problems
from budgets.core.presets import PRESETS

LIMITS = {"memory": 300, "conversation_summary": 500, "recent_messages": 2500}


def test_d1_the_preset_limits_words_and_dedupes():
    policy = parse_policy(PRESETS["compact-chat"].document)

    assert policy.unit == "words"
    assert allocate(policy, 26_214).words == LIMITS
    assert policy.dedupe.summary_against_memory


def test_d1_a_policy_lacking_the_fields_loads_with_the_defaults():
    policy = parse_policy({"unit": "words", "sections": [{"name": name} for name in LIMITS]})

    assert {section.name: section.size for section in policy.sections} == {
        name: Size(kind="words", amount=words) for name, words in LIMITS.items()
    }
    assert policy.dedupe.summary_against_memory


@pytest.mark.parametrize("words", [0, -1])
@pytest.mark.parametrize("name", sorted(LIMITS))
def test_d1_limits_must_be_positive(name, words):
    document = copy.deepcopy(PRESETS["compact-chat"].document)
    index = next(n for n, section in enumerate(document["sections"]) if section["name"] == name)
    document["sections"][index]["size"]["words"] = words

    assert [problem.pointer for problem in problems(document)] == [f"/sections/{index}/size/words"]


def test_d1_the_same_limits_can_be_tokens():
    sections = [{"name": name, "size": {"fixed_tokens": limit}} for name, limit in LIMITS.items()]

    assert allocate(parse_policy({"unit": "tokens", "sections": sections}), 26_214).sections == LIMITS


def test_d1_dedupe_can_be_switched_off():
    document = {**PRESETS["compact-chat"].document, "dedupe": {"summary_against_memory": False}}

    assert not parse_policy(document).dedupe.summary_against_memory
