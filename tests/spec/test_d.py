"""D2 to D6: redundancy control and the word limits of a compact chat."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sessions.core.assembly import MemoryItem, SummaryItem, assemble
from sessions.core.fills.text import cut_words
from tests.core.sessions.contexts import (
    assistant,
    preset,
    reasons,
    request,
    result,
    section,
    stored,
    user,
)

CHAT = preset("compact-chat")


def _memory(*lines: str) -> list[MemoryItem]:
    return [
        MemoryItem(id=f"m{n}", kind="fact", text=line, tokens=len(line) // 4, seq=-n)
        for n, line in enumerate(lines)
    ]


def _summary(text: str) -> list[SummaryItem]:
    return [SummaryItem(from_seq=1, to_seq=1, text=text, tokens=len(text) // 4)]


def _chat(bodies, policy=CHAT, **more):
    return assemble(request(stored(bodies), policy, max_input=26_214, **more))


def _words(text: str, count: int) -> str:
    return " ".join([text] * count)


def test_d2_the_summary_is_compared_with_the_uncut_memory_and_lost_twins_are_listed():
    memory = _memory(_words("filler", 299), "Likes tea", "Uses vim")
    plan = _chat([user()], memory=memory, summaries=_summary("likes tea\nuses vim\nMet in May"))

    opening = plan.messages[0]["content"]
    assert "[Persistent Memory]\nfiller" in opening
    assert "Likes tea" not in opening
    assert "## Conversation Summary\nMet in May" in opening
    assert reasons(plan, "memory") == ["truncated"]
    rows = section(plan, "conversation_summary")["cuts"]
    assert [(row["reason"], row["detail"]) for row in rows] == [
        ("duplicate_of_memory", "likes tea"),
        ("duplicate_of_memory", "uses vim"),
        ("duplicate_lost", "likes tea"),
        ("duplicate_lost", "uses vim"),
    ]


def test_d2_the_users_message_comes_last():
    plan = _chat([user("one"), assistant("two"), user("three")], memory=_memory("Likes tea"))

    assert [message["content"] for message in plan.messages] == [
        "[Persistent Memory]\nLikes tea",
        "one",
        "two",
        "three",
    ]


def test_d3_lines_are_trimmed_and_lowered_and_all_else_is_untouched():
    summary = "  LIKES tea\n\n  Prefers   two  spaces\nlikes tea and coffee"
    plan = _chat([user()], memory=_memory("Likes tea "), summaries=_summary(summary))

    expected = "## Conversation Summary\n\n  Prefers   two  spaces\nlikes tea and coffee"
    assert plan.messages[0]["content"].endswith(expected)


def test_d3_dedupe_can_be_switched_off():
    policy = replace(CHAT, dedupe=replace(CHAT.dedupe, summary_against_memory=False))
    plan = _chat([user()], policy, memory=_memory("Likes tea"), summaries=_summary("likes tea"))

    assert "## Conversation Summary\nlikes tea" in plan.messages[0]["content"]


def test_d4_history_is_taken_newest_first_and_stops_at_the_first_that_does_not_fit():
    # From the newest: 1,000 + 1,000 fit, 600 would pass 2,500, so 10 is not tried either.
    sizes = [10, 600, 1_000, 1_000]
    bodies = [(user, assistant)[n % 2](_words("w", size)) for n, size in enumerate(sizes)]
    plan = _chat([*bodies, user("now")])

    assert plan.seqs[-3:] == (3, 4, 5)
    assert [seq for seq in plan.seqs if seq] == [3, 4, 5]
    assert plan.report["dropped_unsummarised"] == 2


def test_d4_the_limit_is_reached_exactly():
    bodies = [user(_words("w", 500)), assistant(_words("w", 1_250)), user(_words("w", 1_250)), user("now")]

    assert [seq for seq in _chat(bodies).seqs if seq] == [2, 3, 4]


def test_d4_the_users_message_is_outside_the_limit():
    plan = _chat([user(_words("w", 2_000)), assistant(_words("w", 400)), user(_words("w", 3_000))])

    assert [seq for seq in plan.seqs if seq] == [1, 2, 3]


def test_d4_a_named_speaker_is_part_of_the_labelled_message():
    named = user(_words("w", 499), name="Ada")
    plan = _chat([named, *[assistant(_words("w", 500))] * 4, user("now")])

    assert plan.messages[0]["content"].startswith("Ada: w w")
    plan = _chat([user(_words("w", 500), name="Ada"), *[assistant(_words("w", 500))] * 4, user("now")])
    assert [seq for seq in plan.seqs if seq] == [2, 3, 4, 5, 6]


def test_d4_a_newest_message_above_the_limit_is_cut_and_reported():
    plan = _chat([user("go"), assistant(_words("w", 4_000))])

    shown = plan.messages[-1]["content"]
    assert len(shown.split()) == 2_500
    assert shown.endswith("[clipped]")
    assert "clipped" in reasons(plan, "recent_messages")


def test_d4_the_unit_may_be_tokens():
    policy = preset(
        "ratio-default", recent_messages={"fill": "newest_first", "borrows": False, "options": {}}
    )
    bodies = [assistant("x" * 1_584) if n % 2 else user("x" * 1_584) for n in range(20)]
    plan = assemble(request(stored([*bodies, user("now")]), policy, max_input=4_000))

    # 35 % of 4,000 tokens hold three messages of 400, and the user's message stands outside.
    assert [seq for seq in plan.seqs if seq] == [18, 19, 20, 21]


def test_d4_a_call_stays_with_its_results():
    bodies = [user("go"), assistant(None, "a"), result("a", _words("w", 2_400)), assistant(_words("w", 200))]
    plan = _chat([*bodies, user("now")])

    assert [seq for seq in plan.seqs if seq] == [4, 5]


@pytest.mark.parametrize("summary", ["", "  \n ", "Likes tea", "LIKES TEA  \n"])
def test_d5_an_emptied_summary_makes_no_block(summary):
    plan = _chat([user()], memory=_memory("Likes tea"), summaries=_summary(summary))

    assert "## Conversation Summary" not in plan.messages[0]["content"]


def test_d5_cutting_keeps_the_first_words_with_their_spacing():
    assert cut_words("  a  b\n c   d ", 3) == "  a  b\n c"
    assert cut_words(" a b ", 2) == " a b "
    assert cut_words("a b", 0) == ""
    plan = _chat([user()], summaries=_summary("x  " * 501))
    assert plan.messages[0]["content"] == "## Conversation Summary\n" + ("x  " * 500).rstrip()


def test_d5_assembly_changes_no_content():
    messages = stored([user(_words("w", 3_000)), assistant(_words("w", 3_000))])
    bodies = [dict(message.body) for message in messages]
    memory = _memory("Likes tea")
    assemble(request(messages, CHAT, memory=memory, summaries=_summary("likes tea")))

    assert [message.body for message in messages] == bodies
    assert memory == _memory("Likes tea")


def test_d6_near_duplicates_are_off_by_default_and_reported_when_on():
    line = "the release goes out on friday at noon after all the tests have passed"
    near = _summary(f"{line} again")
    policy = replace(CHAT, dedupe=replace(CHAT.dedupe, near_duplicates=True))

    assert (
        "## Conversation Summary"
        in _chat([user()], memory=_memory(line), summaries=near).messages[0]["content"]
    )
    plan = _chat([user()], policy, memory=_memory(line), summaries=near)
    assert "## Conversation Summary" not in plan.messages[0]["content"]
    assert section(plan, "conversation_summary")["cuts"] == [
        {"reason": "near_duplicate", "detail": f"{line} again", "tokens": None}
    ]
    assert plan == _chat([user()], policy, memory=_memory(line), summaries=near)


def test_d2_memory_and_summary_come_before_the_history_in_a_small_window_too():
    bodies = [user(_words("word", 60)) for _ in range(60)]
    memory, summary = _memory("Likes tea"), _summary("Met in May")
    plan = assemble(request(stored(bodies), CHAT, max_input=3_276, memory=memory, summaries=summary))

    assert "[Persistent Memory]\nLikes tea" in plan.messages[0]["content"]
    assert "## Conversation Summary\nMet in May" in plan.messages[0]["content"]
    assert len(plan.messages) > 20
