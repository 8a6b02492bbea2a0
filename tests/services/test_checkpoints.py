"""Checkpoints: what they hold, when they are written, the clear sequence, and exhaustion."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from kernel.models import Job
from sessions.models import Checkpoint
from tests.api.client import Api
from tests.session_calls import (
    assistant,
    compacted,
    context,
    opened,
    profiled,
    record,
    row_of,
    say,
    sent_text,
    signal_kinds,
    signals,
    turns,
    usage,
    user,
)

pytestmark = pytest.mark.django_db


def protocol(api: Api, **fields: Any) -> str:
    return opened(api, **{"model": "claude-3-opus", "profile": "checkpoint-protocol", **fields})


def reasons(session: str) -> list[str]:
    return list(row_of(session).checkpoints.order_by("number").values_list("reason", flat=True))


def test_it_holds_everything_needed_to_resume(api: Api) -> None:
    session = opened(api, goal="Ship it", task="the parser")
    say(api, session, *turns(30))
    api.post(f"{session}/memory", {"text": "uses tabs", "key": "tabs"})
    api.post(f"{session}/scratch/state-changes", {"previous": "", "new": "BUILD"})
    compacted(api, session)
    number = api.post(f"{session}/checkpoints", {"phase": "build", "commit": "abc"}).json()["number"]
    shown = api.get(f"{session}/checkpoints/{number}").json()
    content = shown["content"]
    assert content["sections"] == {"goal": "Ship it"}
    assert "uses tabs" in [entry["text"] for entry in content["memory"]]
    assert content["summaries"][0].startswith("Summary of messages")
    assert (content["task"], content["cfa_state"], content["model"]) == ("the parser", "BUILD", "gpt-4")
    assert shown["position"] == {"phase": "build", "commit": "abc"}
    assert (shown["head_seq"], len(shown["sha256"])) == (60, 64)


def test_a_damaged_checkpoint_is_refused(api: Api) -> None:
    session = opened(api)
    say(api, session, user("hello"))
    number = api.post(f"{session}/checkpoints", {}).json()["number"]
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {Checkpoint._meta.db_table} SET head_seq = 0")
    answer = api.get(f"{session}/checkpoints/{number}")
    assert (answer.status_code, answer.json()["code"]) == (409, "checkpoint_damaged")
    assert api.post(f"{session}/checkpoints/{number}/restore", {}).status_code == 409


def test_one_is_written_before_a_compaction_and_before_a_model_switch(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(30))
    compacted(api, session)
    api.patch(session, {"model": "gpt-4-32k"})
    assert reasons(session) == ["before compaction", "before model switch"]


# What triggers a clear


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([{"type": "story_complete", "epic": "E1", "story": "S1"}], "story_complete"),
        ([{"type": "phase", "phase": "plan"}, {"type": "phase", "phase": "build"}], "phase_transition"),
        ([{"type": "subagent_complete", "subagent": str(n)} for n in range(5)], "subagents_complete"),
        ([{"type": "message", "message": user("*clear")}], "command"),
        ([{"type": "message", "message": user("*checkpoint")}], "command"),
        ([{"type": "message", "message": assistant("CHECKPOINT:WRITE")}], "signal"),
        ([{"type": "checkpoint", "epic": "E1", "story": "S1"}], "signal"),
        ([usage(40_001)], "context_size"),
    ],
)
def test_it_clears_when_the_profile_says_so(api: Api, events: list[dict[str, Any]], reason: str) -> None:
    session = protocol(api)
    say(api, session, *turns(3))
    answer = record(api, session, *events)
    assert reasons(session) == [reason]
    assert [row["kind"] for row in answer["interventions"]] == ["clear"]
    kinds = [row["kind"] for row in answer["signals"]]
    assert kinds[-2:] == ["CHECKPOINT_WRITE", "CONTEXT_CLEARED"]
    row = row_of(session)
    assert row.base_seq == row.head_seq


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "phase", "phase": "plan"}],
        [{"type": "subagent_complete", "subagent": str(n)} for n in range(4)],
        [{"type": "message", "message": user("what does *clear do?")}],
        [usage(40_000)],
    ],
)
def test_it_does_not_clear_a_moment_too_early(api: Api, events: list[dict[str, Any]]) -> None:
    session = protocol(api)
    say(api, session, *turns(3))
    record(api, session, *events)
    assert reasons(session) == []


def test_other_profiles_do_not_clear_on_a_command(api: Api) -> None:
    session = opened(api)
    say(api, session, user("*clear"))
    assert reasons(session) == []


def test_children_count_as_subagents_and_the_count_starts_anew_after_a_clear(api: Api) -> None:
    session = protocol(api)
    say(api, session, *turns(3))
    for _ in range(5):
        child = api.post(f"{session}/children", {"task": "sub"}).json()["id"]
        api.post(f"/sessions/{child}/result", {"result": {}})
    assert row_of(session).subagents_done == 5
    say(api, session, assistant("all done"))
    assert reasons(session) == ["subagents_complete"]
    assert row_of(session).subagents_done == 0


def test_an_agent_without_messages_is_cleared_by_its_reports(api: Api) -> None:
    """Only usage is reported: there is nothing to fold, and still the agent is told once per report."""
    session = protocol(api)
    first = record(api, session, usage(41_000))
    assert [row["kind"] for row in first["interventions"]] == ["clear"]
    assert record(api, session, usage(3_000))["budget"]["flags"]["clear"] is False
    assert reasons(session) == ["context_size"]


def test_sections_that_are_too_large_do_not_clear_at_every_turn(api: Api) -> None:
    session = protocol(api)
    api.put(f"{session}/sections/system_prompt", {"content": "rule " * 60_000})
    for number in range(10):
        say(api, session, *turns(1, first=number))
    assert len(reasons(session)) < 3


# The next start


def test_the_next_context_starts_from_the_checkpoint(api: Api) -> None:
    session = protocol(api, goal="Ship it")
    say(api, session, *turns(20))
    record(api, session, {"type": "checkpoint", "epic": "E1", "story": "S1", "phase": "build", "task": "4"})
    body = context(api, session)
    text = sent_text(body)
    assert "Ship it" in text and "Summary of messages 1–40" in text
    assert body["report"]["tokens"] < 2_500
    assert "Question 10:" not in str(body["messages"][1:-1])


def test_a_clear_is_said_once(api: Api) -> None:
    session = protocol(api)
    answer = say(api, session, *turns(3), user("*clear"))
    assert answer["interventions"][0]["text"].count("CHECKPOINT SAVED") == 1
    body = context(api, session)
    assert body["interventions"] == []
    assert "Exit now" not in sent_text(body)


def test_a_clear_that_no_answer_mentioned_is_said_by_the_next_context(api: Api) -> None:
    session = protocol(api)
    say(api, session, *turns(3))
    api.post(f"{session}/checkpoints", {"clear": True})
    assert "CHECKPOINT SAVED" in sent_text(context(api, session))
    assert "CHECKPOINT SAVED" not in sent_text(context(api, session))


def test_a_clear_remembers_what_was_said(api: Api) -> None:
    session = protocol(api)
    say(api, session, user("My name is Ada and I prefer short answers."), *turns(3))
    say(api, session, user("*clear"))
    texts = [row["text"] for row in api.get(f"{session}/memory").json()["items"]]
    assert any("My name is Ada" in text for text in texts)


# Exhaustion


def test_a_window_that_overflows_at_once_is_told_and_then_resumed(api: Api) -> None:
    session = protocol(api)
    answer = record(api, session, *({"type": "message", "message": m} for m in turns(5)), usage(200_001))
    assert "CONTEXT_EXHAUSTED" in [row["kind"] for row in answer["signals"]]
    assert row_of(session).state == "exhausted"
    told = api.post(f"{session}/context", {})
    assert (told.status_code, told.json()["code"]) == (409, "context_exhausted")
    latest = Checkpoint.objects.latest("number")
    assert told.json()["resume_from"] == latest.pk
    assert row_of(session).state == "exhausted"
    body = context(api, session)
    assert "Summary of messages 1–10" in sent_text(body)
    assert row_of(session).state == "active"


def test_what_cannot_fit_is_checkpointed_and_cleared(api: Api, manage_key: str) -> None:
    """A pinned message that fills the window: the question is answered with the place to resume from."""
    session = protocol(api, model="gpt-3.5-turbo")
    say(api, session, *(user(f"rule {n}: " + "never ever " * 400) for n in range(6)), pinned=True)
    told = api.post(f"{session}/context", {}, headers={"Idempotency-Key": "k"})
    assert (told.status_code, told.json()["code"]) == (409, "context_exhausted")
    assert told.json()["resume_from"] == Checkpoint.objects.latest("number").pk
    assert signal_kinds(api, session)[-3:] == ["CONTEXT_EXHAUSTED", "CHECKPOINT_WRITE", "CONTEXT_CLEARED"]
    assert row_of(session).state == "exhausted"
    again = api.post(f"{session}/context", {}, headers={"Idempotency-Key": "k"})
    assert (again.status_code, again.json()["code"]) == (413, "context_too_large")


def test_profiles_without_checkpoints_refuse_with_the_numbers(api: Api) -> None:
    session = opened(api, model="gpt-3.5-turbo")
    say(api, session, *(user(f"rule {n}: " + "never ever " * 400) for n in range(6)), pinned=True)
    answer = api.post(f"{session}/context", {})
    assert (answer.status_code, answer.json()["code"]) == (413, "context_too_large")
    assert reasons(session) == []


def test_the_last_valid_checkpoint_is_named(api: Api) -> None:
    session = protocol(api)
    say(api, session, *turns(3))
    good = api.post(f"{session}/checkpoints", {}).json()["id"]
    record(api, session, usage(200_001))
    newest = Checkpoint.objects.latest("number")
    Checkpoint.objects.filter(pk=newest.pk).update(head_seq=0)
    assert api.post(f"{session}/context", {}).json()["resume_from"] == good


def test_a_restore_wakes_an_exhausted_session(api: Api) -> None:
    session = protocol(api)
    say(api, session, *turns(3))
    number = api.post(f"{session}/checkpoints", {}).json()["number"]
    record(api, session, usage(200_001))
    assert api.post(f"{session}/checkpoints/{number}/restore", {}).status_code == 200
    assert row_of(session).state == "active"
    assert "Question 2:" in sent_text(context(api, session))


def test_a_profile_of_ones_own_may_work_by_checkpoints(api: Api, manage_key: str) -> None:
    soft = {"flag": "soft", "level": "critical", "basis": "budget", "at_bp": 5000, "action": "checkpoint"}
    profiled(Api(key=manage_key), "own", "ratio-default", thresholds=[soft])
    session = opened(api, profile="own")
    say(api, session, *turns(22))
    assert reasons(session) == ["context_size"]
    assert not Job.objects.filter(kind="compact_session").exists()
    record(api, session, *({"type": "message", "message": m} for m in turns(3)), usage(9_000))
    assert "CONTEXT_EXHAUSTED" in [row["kind"] for row in signals(api, session)]
