"""What stands twice is said once, and everything else is left alone."""

from __future__ import annotations

from dataclasses import replace

from budgets.core.policy import DedupePolicy
from sessions.core.assembly import Hit, MemoryItem, SummaryItem, assemble
from sessions.core.redundancy import dedupe_lines, dedupe_near, is_near_text, lost_twins
from tests.core.sessions.contexts import preset, reasons, request, stored, user

NEAR = replace(preset("ratio-default"), dedupe=DedupePolicy(near_duplicates=True))


def test_it_removes_equal_lines_whatever_their_case_and_spaces():
    found = dedupe_lines("  Likes TEA \n\nWrites tests\nlikes coffee", "likes tea\nuses vim")

    assert found.text == "\nWrites tests\nlikes coffee"
    assert found.removed == ("Likes TEA",)


def test_blank_lines_are_no_duplicates():
    assert dedupe_lines("a\n\nb", "c\n\nd").text == "a\n\nb"


def test_near_duplicates_share_most_of_their_words():
    known = "The parser fails on line 42 of parser.py when the file is empty"

    assert dedupe_near("the parser fails on line 42 of parser.py when the file is empty!", [known]).text == ""
    assert not is_near_text("The lexer fails on line 7 of lexer.py when the token is long", [known])
    assert not is_near_text("short line", ["short line"])


def test_a_removed_line_whose_twin_was_cut_is_lost():
    assert lost_twins(["Likes tea", "Uses vim"], "likes tea") == ("Uses vim",)


def test_near_duplicates_are_removed_from_summary_and_hits_but_never_from_memory_or_messages():
    fact = "the release goes out on friday at noon after the tests have passed"
    plan = assemble(
        request(
            stored([user(fact)]),
            NEAR,
            memory=[MemoryItem(id="m", kind="fact", text=fact, tokens=16)],
            summaries=[SummaryItem(from_seq=1, to_seq=1, text=f"{fact.upper()}.\nThey met.", tokens=20)],
            hits=[Hit(ref="seq:3", text=fact, tokens=16), Hit(ref="seq:4", text="Something else.", tokens=4)],
        )
    )
    sent = "\n".join(message["content"] for message in plan.messages)

    assert sent.lower().count(fact) == 2
    assert "They met." in sent
    assert reasons(plan, "conversation_summary") == ["near_duplicate"]
    assert reasons(plan, "retrieved_context") == ["near_duplicate"]
