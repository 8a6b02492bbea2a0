"""W3 to W7: what a long story keeps, what it refuses and what it reports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from budgets.core.window import window_budget
from sessions.core.assembly import AssemblyRequest, ContextTooLarge, assemble
from sessions.core.fills.head_middle_tail import EVENTS
from sessions.core.story import Turns, planned_turns, reductions, story_rules
from tests.core.sessions.contexts import RULER, chat, preset, recounted, request, stored, text_of

STORY = preset("long-story")
# 94,372 - 10,500 - 9,500 = 74,372: the story budget of the seed's example.
SCAFFOLD = text_of(9_500)


def _story(turns: int, tokens: int = 2_400, policy=STORY, **more) -> AssemblyRequest:
    messages = stored(chat(turns, tokens))
    base = request(messages, policy, sections={"system_prompt": SCAFFOLD}, **more)
    return replace(base, window=window_budget(policy.window, 131_072), model="zai-glm-4.6")


def test_w3_the_story_budget_is_shared_25_10_60():
    budget = assemble(_story(50)).report["budget"]

    assert budget["story_budget"] == 74_372
    assert (budget["start_budget"], budget["middle_budget"], budget["end_budget"]) == (18_593, 7_437, 44_623)


def test_w3_without_a_middle_its_share_goes_to_the_end():
    policy = preset("long-story", recent_messages={"options": {"middle": False}})
    budget = assemble(_story(50, policy=policy)).report["budget"]

    assert (budget["middle_budget"], budget["end_budget"]) == (0, 52_060)


def test_w4_a_story_that_fits_is_kept_whole():
    plan = assemble(_story(30))

    assert plan.seqs == tuple(range(1, 31))
    assert plan.report["budget"]["over"] is False


def test_w4_turns_follow_from_the_average_tokens_per_turn():
    plan = assemble(_story(50))

    assert plan.report["budget"]["turns_after"] == {"start": 7, "end": 18}
    assert plan.seqs == (*range(1, 8), 0, *range(33, 51))


def test_w4_without_a_middle_the_end_gets_20_turns():
    policy = preset("long-story", recent_messages={"options": {"middle": False}})
    plan = assemble(_story(50, policy=policy))

    assert plan.report["budget"]["turns_after"] == {"start": 7, "end": 20}


def test_w4_the_adaptive_loop_takes_two_turns_at_a_time_down_to_the_minimums():
    rules = story_rules(74_372, {"middle": False})
    planned = planned_turns(rules, turns=50, tokens=50 * 2_400)
    found = [(turns.start, turns.end) for turns in reductions(planned, rules)]

    ends = [(7, end) for end in range(20, 5, -2)]
    assert found == [*ends, (5, 6), (5, 5), (3, 5)]
    assert list(reductions(Turns(start=3, end=5), rules)) == [Turns(start=3, end=5)]


def test_w4_longer_turns_at_the_end_are_reduced_until_they_fit():
    bodies = [*chat(30, 500), *chat(20, 4_400)]
    plan = assemble(replace(_story(0), tail=stored(bodies), head_seq=50, anchors=_story(2).anchors))
    budget = plan.report["budget"]

    before, after = budget["turns_before"], budget["turns_after"]
    assert before["end"] > after["end"] >= 5
    assert (before["end"] - after["end"]) % 2 == 0
    assert recounted(plan) + 10_500 <= 94_372


def test_w5_the_middle_lists_key_events_within_its_share_behind_a_marker():
    plan = assemble(_story(50))
    middle = plan.messages[7]["content"]

    assert middle.startswith("[25 turns of the story are left out here.]")
    assert EVENTS in middle
    assert RULER.count(middle) <= 7_437 + RULER.count(middle.partition(EVENTS)[0])
    assert "t20" in middle


def test_w5_a_disabled_middle_leaves_the_marker():
    policy = preset("long-story", recent_messages={"options": {"middle": False}})
    plan = assemble(_story(50, policy=policy))

    assert plan.messages[7]["content"] == "[23 turns of the story are left out here.]"


def test_w5_a_store_may_load_only_both_ends():
    whole = _story(60)
    messages = list(whole.tail)
    parts = replace(
        whole, tail=messages[25:], head=messages[:25], live_tokens=sum(message.tokens for message in messages)
    )

    assert assemble(parts).seqs == assemble(whole).seqs


def test_w6_what_cannot_fit_is_refused_with_the_sentence_and_remedies():
    with pytest.raises(ContextTooLarge) as refusal:
        assemble(_story(20, tokens=12_000))

    # 8 turns of 12,000, the marker, the scaffold and the reserve.
    assert refusal.value.detail == (
        f"Context too large for model zai-glm-4.6: input uses {refusal.value.used:,} tokens, "
        "max allowed is 94,372 tokens (80% of 117,964)"
    )
    assert 116_000 < refusal.value.used < 117_000
    assert refusal.value.remedies
    assert {row["name"] for row in refusal.value.sections} >= {"system_prompt", "recent_messages"}


def test_w7_every_assembly_reports_its_budget():
    budget = assemble(_story(50)).report["budget"]

    assert budget == {
        "window": 131_072,
        "safe": 117_964,
        "output_reserve": 23_592,
        "mode": "normal",
        "max_input": 94_372,
        "scaffold": {"raw": 9_500, "reserves": 10_500, "total": 20_000},
        "story_budget": 74_372,
        "actual": 120_000,
        "over": True,
        "average_tokens_per_turn": 2_400,
        "start_budget": 18_593,
        "middle_budget": 7_437,
        "end_budget": 44_623,
        "turns_before": {"start": 7, "end": 18},
        "turns_after": {"start": 7, "end": 18},
    }


def test_w7_other_fills_report_the_window_too():
    budget = assemble(request(stored(chat(3)))).report["budget"]

    assert budget["scaffold"]["total"] == 0
    assert budget["story_budget"] == 4_000
    assert budget["over"] is False


def test_w2_a_story_rendered_twice_is_written_as_a_timeline_log():
    policy = preset("long-story", recent_messages={"duplication_bp": 20_500})
    plan = assemble(_story(50, policy=policy))

    assert "## Timeline Log\n[SEQ_ID: 1] User: t0" in plan.messages[-1]["content"]
    assert recounted(plan) + 10_500 <= 94_372
