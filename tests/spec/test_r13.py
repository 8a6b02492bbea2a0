"""R13: memory is filled by pin, priority and recency, to its budget."""

from __future__ import annotations

import pytest

from sessions.core.assembly import ContextTooLarge, MemoryItem, assemble
from tests.core.sessions.contexts import chat, request, section, stored, text_of

# 10 % of 4,000 tokens.
MEMORY_TOKENS = 400


def _entry(name: str, *, tokens: int = 120, **more) -> MemoryItem:
    return MemoryItem(id=name, kind="fact", text=f"<{name}> " + text_of(tokens - 3), tokens=tokens, **more)


def _shown(entries: list[MemoryItem]) -> list[str]:
    plan = assemble(request(stored(chat(100)), memory=entries))
    text = plan.messages[0]["content"]
    assert text.startswith("[Persistent Memory]\n")
    assert section(plan, "memory")["used"] <= MEMORY_TOKENS
    return sorted(entry.id for entry in entries if f"<{entry.id}>" in text)


@pytest.mark.parametrize(
    ("ranks", "kept"),
    [
        # Pinned before everything, however low its priority and however old.
        ({"a": {"priority": 9}, "b": {"priority": 9}, "c": {"priority": 9}, "d": {"pinned": True}}, {"d"}),
        (
            {"a": {"priority": 1}, "b": {"priority": 3}, "c": {"priority": 2}, "d": {"priority": 4}},
            {"b", "c", "d"},
        ),
        ({"a": {"seq": 1}, "b": {"seq": 4}, "c": {"seq": 3}, "d": {"seq": 2}}, {"b", "c", "d"}),
        (
            {"a": {"priority": 1, "seq": 1}, "b": {"seq": 9}, "c": {"seq": 8}, "d": {"seq": 7}},
            {"a", "b", "c"},
        ),
    ],
)
def test_r13_memory_is_filled_by_pin_priority_then_recency(ranks, kept):
    shown = _shown([_entry(name, **rank) for name, rank in ranks.items()])

    assert kept <= set(shown)
    assert len(shown) == 3


def test_r13_entries_are_written_in_the_order_of_their_creation():
    entries = [_entry("b", tokens=20, seq=2, priority=9), _entry("a", tokens=20, seq=1)]
    plan = assemble(request(stored(chat(3)), memory=entries))

    assert plan.messages[0]["content"].index("<a>") < plan.messages[0]["content"].index("<b>")


def test_r13_what_does_not_fit_is_reported():
    entries = [_entry(f"e{n}", seq=n) for n in range(5)]
    row = section(assemble(request(stored(chat(100)), memory=entries)), "memory")

    assert (row["kept"], row["dropped"]) == (3, 2)
    assert [cut["detail"] for cut in row["cuts"]] == ["memory e0", "memory e1"]


def test_r13_pinned_memory_is_never_cut_silently():
    entries = [_entry(f"p{n}", pinned=True) for n in range(5)]
    plan = assemble(request(stored(chat(100)), memory=entries))
    assert section(plan, "memory")["kept"] == 5

    large = assemble(request(stored(chat(100)), memory=[_entry("large", tokens=900, pinned=True)]))
    assert "[clipped" in large.messages[0]["content"]
    assert section(large, "memory")["cuts"][0]["reason"] == "clipped"

    with pytest.raises(ContextTooLarge):
        assemble(request(stored(chat(100)), memory=[_entry(f"p{n}", pinned=True) for n in range(50)]))


def test_r13_empty_memory_makes_no_block():
    plan = assemble(request(stored(chat(3))))

    assert all("[Persistent Memory]" not in message["content"] for message in plan.messages)
