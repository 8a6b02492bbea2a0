"""The sticky cut: the boundary stays, so the prefix stays, until the tail overflows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from sessions.core.assembly import Hit, assemble
from tests.core.sessions.contexts import assistant, chat, request, result, stored, text_of, user

LOW_WATER = 2_400


def _turns(bodies, first, *, step=1, **more):
    """Assembles at every step of a growing history, as a session would."""
    messages = stored(bodies)
    plans = []
    cut_seq, prefix = 0, ()
    for head in range(first, len(messages) + 1, step):
        plan = assemble(request(messages[:head], cut_seq=cut_seq, previous_prefix=prefix, **more))
        cut_seq, prefix = plan.cut_seq, plan.prefix
        plans.append(plan)
    return plans


def test_the_boundary_stays_until_the_next_overflow():
    plans = _turns(chat(200), 30)
    cuts = [plan.cut_seq for plan in plans]

    assert cuts == sorted(cuts)
    # 4,000 tokens hold about 40 messages and 16 of them fit between low-water mark and overflow.
    assert 9 <= len(set(cuts)) <= 13


def test_between_two_cuts_the_whole_last_context_is_the_prefix():
    plans = _turns(chat(60), 30)

    for last, plan in pairwise(plans):
        if last.cut_seq == plan.cut_seq:
            assert plan.report["prefix_stable_tokens"] == last.tokens
            assert plan.messages[: len(last.messages)] == last.messages


def test_hits_of_the_query_do_not_touch_the_prefix():
    hits = [[Hit(ref=f"seq:{n}", text=f"chunk {n}", tokens=3)] for n in range(2)]
    messages = stored(chat(12))
    first = assemble(request(messages[:11], hits=hits[0]))
    second = assemble(request(messages, hits=hits[1], previous_prefix=first.prefix))

    assert second.report["prefix_stable_tokens"] == 10 * 100


def test_a_cut_never_falls_below_the_low_water_mark():
    plans = _turns(chat(200), 60, step=3)

    assert all(LOW_WATER <= plan.tokens <= 4_000 for plan in plans)


def test_a_tail_that_fell_below_the_mark_is_extended_again():
    messages = stored(chat(100))
    crowded = assemble(request(messages, sections={"system_prompt": text_of(3_000)}))
    roomy = assemble(request(messages, cut_seq=crowded.cut_seq))

    assert crowded.cut_seq > 80
    assert roomy.cut_seq < crowded.cut_seq
    assert roomy.tokens >= LOW_WATER


def test_one_very_large_group_neither_empties_the_tail_nor_moves_it_every_turn():
    giant = [assistant(None, "g1", "g2"), result("g1", text_of(9_000)), result("g2", text_of(50))]
    plans = _turns([*chat(40), *giant, *chat(10)], 44)

    assert all(plan.tokens >= LOW_WATER for plan in plans)
    assert len({plan.cut_seq for plan in plans}) <= 3


def test_a_compaction_behind_the_boundary_starts_afresh():
    messages = stored(chat(100))
    cut = assemble(request(messages))
    plan = assemble(request(messages[90:], base_seq=90, cut_seq=cut.cut_seq))

    assert [seq for seq in plan.seqs if seq > 90] == list(range(91, 101))
    assert plan.cut_seq == 0


def test_without_the_sticky_cut_the_window_is_filled():
    messages = stored(chat(100))
    plan = assemble(replace(request(messages), sticky=False))

    assert plan.tokens >= 3_600


def test_without_the_sticky_cut_a_large_message_fills_the_gap_with_its_beginning():
    plan = assemble(request(stored([*chat(10), user(text_of(9_000)), *chat(5)]), sticky=False))

    assert plan.tokens >= 3_600
    assert "[clipped: 9,000 tokens in full]" in plan.messages[plan.seqs.index(11)]["content"]


def test_a_late_result_finds_its_call_behind_the_boundary():
    bodies = [
        *chat(60),
        assistant(None, "a", "b"),
        result("a"),
        *[user(text_of(100))] * 12,
        result("b"),
        *chat(4),
    ]
    for plan in _turns(bodies, 60):
        shown = {seq for seq in plan.seqs if seq in (61, 62, 75)}
        assert shown in (set(), {61}, {61, 62}, {61, 62, 75})
        assert plan.report["valid"]
