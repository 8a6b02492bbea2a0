"""Memory: what compaction learns, what supersedes what, and the share of the target that it may take."""

from __future__ import annotations

from typing import Any

import pytest

from sessions.models import MemoryEntry
from sessions.services.extraction import memory_room
from sessions.services.frames import frame_of
from sessions.services.store import from_bytes
from tests.api.client import Api
from tests.session_calls import (
    assistant,
    compacted,
    context,
    opened,
    row_of,
    say,
    sent_text,
    tool_turn,
    turns,
    user,
)

pytestmark = pytest.mark.django_db


def entries(api: Api, session: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = api.get(f"{session}/memory").json()["items"]
    return items


def texts(api: Api, session: str) -> list[str]:
    return [row["text"] for row in entries(api, session)]


def learned(api: Api, *messages: dict[str, Any]) -> str:
    session = opened(api)
    say(api, session, *messages, *turns(30))
    compacted(api, session)
    return session


def test_it_learns_every_kind_with_its_source(api: Api) -> None:
    broken = "Error: no such table orders"
    session = learned(
        api,
        user("My name is Ada. I prefer short answers."),
        assistant("We decided to use SQLite."),
        *tool_turn("c1", broken, name="bash", arguments='{"command": "make migrate"}'),
        *tool_turn("c2", "ok", name="bash", arguments='{"command": "make migrate"}'),
        {
            "role": "assistant",
            "content": "Fixing the settings.",
            "tool_calls": [
                {
                    "id": "c3",
                    "type": "function",
                    "function": {"name": "Edit", "arguments": '{"file_path": "app/settings.py"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c3", "content": "done"},
    )
    found = {(row["kind"], row["source"]): row["text"] for row in entries(api, session)}
    assert found["fact", "seq:1"] == "My name is Ada."
    assert found["preference", "seq:1"] == "I prefer short answers."
    assert found["decision", "seq:2"] == "We decided to use SQLite."
    assert "resolved at #6" in found["error", "seq:4"]
    assert found["file", "seq:7"] == "app/settings.py: Fixing the settings."


def test_a_change_supersedes_and_the_same_words_stay(api: Api) -> None:
    session = learned(api, user("My port is 8000."), user("My name is Ada."))
    first = {row["text"]: row["id"] for row in entries(api, session)}
    say(api, session, user("My port is 9000."), user("My name is Ada."), *turns(30, first=30))
    compacted(api, session)
    second = {row["text"]: row["id"] for row in entries(api, session)}
    assert "My port is 9000." in second and "My port is 8000." not in second
    assert second["My name is Ada."] == first["My name is Ada."]
    old = MemoryEntry.objects.get(pk=first["My port is 8000."])
    assert old.superseded_at is not None and from_bytes(old.body) == "My port is 8000."


def test_a_pinned_entry_is_not_superseded(api: Api) -> None:
    session = learned(api, user("My port is 8000."))
    entry = next(row["id"] for row in entries(api, session) if "8000" in row["text"])
    api.patch(f"{session}/memory/{entry}", {"pinned": True})
    say(api, session, user("My port is 9000."), *turns(30, first=30))
    compacted(api, session)
    assert "My port is 8000." in texts(api, session)
    assert "My port is 9000." not in texts(api, session)


def test_it_goes_on_into_every_context(api: Api) -> None:
    session = learned(api, user("My name is Ada."))
    body = context(api, session)
    block = next(m["content"] for m in body["messages"] if "[Persistent Memory]" in str(m["content"]))
    assert "My name is Ada." in block


def test_without_memory_there_is_no_block(api: Api) -> None:
    session = opened(api)
    say(api, session, user("hello"))
    assert "[Persistent Memory]" not in sent_text(context(api, session))


def test_what_is_learned_stays_within_a_fifth_of_the_target(api: Api) -> None:
    session = opened(api)
    frame = frame_of(row_of(session))
    assert memory_room(frame) == 819
    for round_number in range(6):
        facts = [
            user(f"My value number {round_number}-{n} is {n * 7919}, which matters for the long report.")
            for n in range(40)
        ]
        say(api, session, *facts, *turns(12, first=round_number * 12))
        compacted(api, session)
        weight = sum(
            e.counts[row_of(session).tokenizer] for e in MemoryEntry.objects.filter(superseded_at=None)
        )
        assert 0 < weight <= 819
        assert row_of(session).parts["memory"] == weight


def test_what_people_and_agents_wrote_is_never_taken_away(api: Api) -> None:
    session = opened(api)
    for number in range(60):
        api.post(f"{session}/memory", {"text": f"written by hand {number} " + "word " * 20, "priority": 1})
    say(api, session, user("My name is Ada."), *turns(30))
    compacted(api, session)
    assert sum("written by hand" in text for text in texts(api, session)) == 60


def test_memory_beyond_its_share_does_not_keep_compaction_from_working(api: Api) -> None:
    session = opened(api)
    for number in range(80):
        api.post(f"{session}/memory", {"text": f"written by hand {number} " + "word " * 40})
    say(api, session, *turns(20))
    assert compacted(api, session)["after"] < row_of(session).counted_tokens + 1
    assert context(api, session)["report"]["tokens"] <= 6553
