"""Restores: head, chosen items and forks; dry runs, undo, and what the next folds make of it."""

from __future__ import annotations

from typing import Any

import pytest

from sessions.models import Message
from tests.api.client import Api
from tests.session_calls import (
    compacted,
    context,
    opened,
    originals,
    row_of,
    say,
    sent_text,
    turns,
    user,
    work_off,
)

pytestmark = pytest.mark.django_db


def checkpointed(api: Api, session: str) -> int:
    answer = api.post(f"{session}/checkpoints", {})
    assert answer.status_code == 201, answer.content
    number: int = answer.json()["number"]
    return number


def restored(api: Api, session: str, number: int | str, **fields: Any) -> dict[str, Any]:
    answer = api.post(f"{session}/checkpoints/{number}/restore", fields)
    assert answer.status_code in (200, 201), answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_what_came_after_is_hidden_and_nothing_is_deleted(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(3))
    number = checkpointed(api, session)
    say(api, session, *turns(3, first=3))
    answer = restored(api, session, number)
    assert (answer["epoch"], answer["head_seq"]) == (1, 12)
    states = [row["state"] for row in originals(api, session)]
    assert states == ["live"] * 6 + ["hidden"] * 6
    body = context(api, session)
    assert "Question 4:" not in sent_text(body)
    assert body["report"]["dropped_unsummarised"] == 0
    assert (body["report"]["turns_kept"], body["report"]["turns_offered"]) == (6, 6)


def test_the_session_goes_on_with_the_next_number(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(3))
    number = checkpointed(api, session)
    say(api, session, *turns(3, first=3))
    restored(api, session, number)
    answer = say(api, session, user("another way"))
    assert answer["results"][0]["seq"] == 13
    body = context(api, session)
    assert body["messages"][-1]["content"] == "another way"
    assert body["report"]["turns_offered"] == 7


def test_undo_brings_it_back(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(3))
    number = checkpointed(api, session)
    say(api, session, *turns(3, first=3))
    before = context(api, session)["messages"]
    undo = restored(api, session, number)["undo"]
    restored(api, session, undo)
    assert context(api, session)["messages"] == before
    assert {row["state"] for row in originals(api, session)} == {"live"}


def test_a_restore_across_a_compaction_shows_the_words_again(api: Api) -> None:
    session = opened(api, model="gpt-4-32k")
    say(api, session, *turns(40))
    number = checkpointed(api, session)
    compacted(api, session)
    restored(api, session, number)
    text = sent_text(context(api, session))
    assert "Question 0:" in text and "Question 20:" in text
    assert row_of(session).base_seq == 0


def test_pins_that_are_hidden_are_not_sent(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(2))
    number = checkpointed(api, session)
    say(api, session, user("Pinned by mistake."), pinned=True)
    restored(api, session, number)
    assert "Pinned by mistake." not in sent_text(context(api, session))


def test_hidden_messages_are_not_folded_and_not_retrieved(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(5))
    number = checkpointed(api, session)
    say(api, session, user("The hidden word is heliotrope."))
    restored(api, session, number)
    say(api, session, *turns(40, first=5))
    compacted(api, session)
    body = context(api, session, query="the hidden word heliotrope")
    assert "heliotrope" not in sent_text(body)
    hidden = [row["seq"] for row in originals(api, session) if row["state"] == "hidden"]
    assert hidden == [11]


def test_sections_and_memory_come_back_with_the_head(api: Api) -> None:
    session = opened(api, goal="First goal")
    entry = api.post(f"{session}/memory", {"text": "likes tea"}).json()["id"]
    number = checkpointed(api, session)
    api.patch(session, {"goal": "Second goal"})
    api.patch(f"{session}/memory/{entry}", {"text": "likes coffee"})
    api.post(f"{session}/memory", {"text": "new fact"})
    restored(api, session, number)
    assert [row["text"] for row in api.get(f"{session}/memory").json()["items"]] == ["likes tea"]
    assert "First goal" in sent_text(context(api, session))


@pytest.mark.parametrize(
    ("items", "goal", "memory"),
    [
        (["goal"], "First", "coffee"),
        (["memory"], "Second", "tea"),
        (["sections", "memory"], "First", "tea"),
    ],
)
def test_chosen_items_come_back_and_the_conversation_stays(
    api: Api, items: list[str], goal: str, memory: str
) -> None:
    session = opened(api, goal="First goal")
    entry = api.post(f"{session}/memory", {"text": "likes tea"}).json()["id"]
    number = checkpointed(api, session)
    api.patch(session, {"goal": "Second goal"})
    api.patch(f"{session}/memory/{entry}", {"text": "likes coffee"})
    say(api, session, user("a later question"))
    undo = restored(api, session, number, mode="items", items=items)["undo"]
    text = sent_text(context(api, session))
    assert f"{goal} goal" in text and f"likes {memory}" in text and "a later question" in text
    restored(api, session, undo, mode="items", items=["sections", "memory"])
    text = sent_text(context(api, session))
    assert "Second goal" in text and "likes coffee" in text


@pytest.mark.parametrize("items", [[], ["nonsense"], ["goal", "nonsense"]])
def test_unknown_items_are_refused(api: Api, items: list[str]) -> None:
    session = opened(api, goal="Goal")
    number = checkpointed(api, session)
    answer = api.post(f"{session}/checkpoints/{number}/restore", {"mode": "items", "items": items})
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_item")
    assert row_of(session).checkpoints.count() == 1


def test_a_dry_run_says_whether_it_fits_and_changes_nothing(api: Api) -> None:
    session = opened(api, model="claude-3-opus")
    say(api, session, *turns(40))
    number = checkpointed(api, session)
    say(api, session, user("more"))
    api.patch(session, {"model": "gpt-3.5-turbo"})
    work_off()
    epoch = row_of(session).epoch
    shown = restored(api, session, number, dry_run=True)
    assert (shown["fits"], shown["total"], shown["model"]) == (False, 3276, "gpt-3.5-turbo")
    assert shown["hides"] == [[81, 81]]
    assert row_of(session).epoch == epoch


def test_a_restore_under_another_model_is_counted_in_its_tokens(api: Api) -> None:
    session = opened(api, model="gpt-4")
    say(api, session, *turns(5))
    number = checkpointed(api, session)
    api.patch(session, {"model": "claude-3-opus"})
    restored(api, session, number)
    row = row_of(session)
    counted = sum(m.counts[row.tokenizer] for m in Message.objects.filter(session=row))
    assert row.counted_tokens == counted
    assert row.model == "claude-3-opus"


def test_the_breaker_starts_afresh(api: Api) -> None:
    session = opened(api)
    say(api, session, user("small"))
    number = checkpointed(api, session)
    say(api, session, *turns(40))
    work_off()
    assert row_of(session).last_compaction is not None
    restored(api, session, number)
    assert row_of(session).last_compaction is None
    assert row_of(session).level == "normal"


# Forks


def test_a_fork_begins_where_the_checkpoint_stood(api: Api) -> None:
    session = opened(api, goal="Goal", metadata={"who": "me"})
    say(api, session, *turns(40))
    api.post(f"{session}/memory", {"text": "likes tea"})
    compacted(api, session)
    number = checkpointed(api, session)
    then = context(api, session)
    say(api, session, user("only in the old one"))
    answer = api.post(f"{session}/checkpoints/{number}/restore", {"mode": "fork", "external_id": "twin"})
    assert answer.status_code == 201
    fork = f"/sessions/{answer.json()['session']}"
    body = context(api, fork)
    assert (body["system"], body["messages"]) == (then["system"], then["messages"])
    row = row_of(fork)
    assert (row.external_id, row.turns, row.spent_nano, row.compactions) == ("twin", 0, 0, 0)
    assert row.metadata["forked_from"]["session"] == row_of(session).pk
    assert row.manifest is not None
    assert row.manifest.items[0]["summary"] not in [s.pk for s in row_of(session).summaries.all()]


def test_both_go_their_own_ways(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(3))
    number = checkpointed(api, session)
    fork = f"/sessions/{restored(api, session, number, mode='fork')['session']}"
    say(api, fork, user("in the fork"))
    say(api, session, user("in the old one"))
    assert "in the fork" not in sent_text(context(api, session))
    assert "in the old one" not in sent_text(context(api, fork))
    work_off()
    assert api.get(f"{fork}/messages?q=module_2.py").json()["items"]


def test_a_taken_external_id_is_refused(api: Api) -> None:
    session = opened(api, external_id="one")
    number = checkpointed(api, session)
    answer = api.post(f"{session}/checkpoints/{number}/restore", {"mode": "fork", "external_id": "one"})
    assert (answer.status_code, answer.json()["code"]) == (409, "external_id_taken")
