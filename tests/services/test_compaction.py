"""Compaction: what is folded, what stays, what is refused, and why it cannot go on for ever."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from kernel.jobs import registry
from kernel.models import Job
from kernel.tasks import run_job
from sessions.models import AgentSession, Summary
from sessions.services.compaction_requests import COMPACT_JOB
from sessions.services.manifests import message_state
from sessions.services.store import from_bytes
from teams.models import WebhookDelivery
from tests.api.client import Api
from tests.session_calls import (
    assistant,
    compacted,
    context,
    opened,
    originals,
    record,
    row_of,
    say,
    sent_text,
    signal_kinds,
    signals,
    tool_turn,
    turns,
    usage,
    user,
    work_off,
)

pytestmark = pytest.mark.django_db


def long_session(api: Api, count: int = 30, **fields: object) -> str:
    session = opened(api, **fields)
    say(api, session, *turns(count))
    return session


def test_it_folds_old_turns_and_keeps_the_newest(api: Api) -> None:
    session = long_session(api, goal="Ship the release")
    result = compacted(api, session)
    row = row_of(session)
    assert result["after"] < result["before"]
    assert row.counted_tokens == result["after"] <= 4096
    assert 0 < row.base_seq < row.head_seq == 60
    text = sent_text(context(api, session))
    assert "Ship the release" in text
    assert "Question 29:" in text


def test_every_original_stays_readable_and_searchable(api: Api) -> None:
    session = long_session(api)
    compacted(api, session)
    found = originals(api, session)
    assert [row["seq"] for row in found] == list(range(1, 61))
    assert {row["state"] for row in found} == {"summarised", "live"}
    hits = api.get(f"{session}/messages?q=module_3.py&limit=3").json()["items"]
    assert hits[0]["seq"] in (7, 8)
    assert (
        api.get(f"{session}/messages?seq=7")
        .json()["items"][0]["message"]["content"]
        .startswith("Question 3:")
    )


def test_the_summary_leads_back_to_what_it_stands_for(api: Api) -> None:
    session = long_session(api)
    result = compacted(api, session)
    text = from_bytes(Summary.objects.get(pk=result["summary"]).body)
    assert text.startswith(f"Summary of messages 1–{result['to_seq']}")


def test_a_second_fold_replaces_the_first_summary(api: Api) -> None:
    session = long_session(api)
    first = compacted(api, session)
    say(api, session, *turns(30, first=30))
    second = compacted(api, session)
    row = row_of(session)
    assert row.manifest is not None
    kinds = [(item["kind"], item["to_seq"]) for item in row.manifest.items]
    assert kinds == [("summary", second["to_seq"])]
    assert second["to_seq"] > first["to_seq"]
    assert context(api, session)["report"]["dropped_unsummarised"] == 0


def test_pinned_messages_stay_word_for_word(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(5))
    say(api, session, user("Never touch the production database."), pinned=True)
    say(api, session, *turns(30, first=5))
    result = compacted(api, session)
    assert result["to_seq"] > 11
    assert "Never touch the production database." in sent_text(context(api, session))
    pin = next(row for row in originals(api, session) if row["pinned"])
    assert pin["state"] == "live"


def test_a_pinned_result_keeps_its_call_after_the_fold(api: Api) -> None:
    session = opened(api)
    say(api, session, user("go"))
    call, result = tool_turn("c1", "exit 0: all 42 checks green")
    say(api, session, call)
    say(api, session, result, pinned=True)
    say(api, session, *turns(30))
    compacted(api, session)
    body = context(api, session)
    assert body["report"]["format_problems"] == []
    assert body["report"]["repaired"] == []
    assert "all 42 checks green" in sent_text(body)


def test_the_latest_user_turn_survives_a_long_tool_loop_and_is_summarised_later(api: Api) -> None:
    session = opened(api)
    say(api, session, user("First task: tidy up."), assistant("Done."))
    say(api, session, user("Please port parser_x9 to the new API."))
    for number in range(40):
        say(api, session, *tool_turn(f"c{number}", "line of output " * 40))
    assert compacted(api, session)["to_seq"] > 3
    assert "Please port parser_x9" in sent_text(context(api, session))
    say(api, session, user("Thanks. Now something else."), assistant("Sure."))
    say(api, session, *turns(20))
    result = compacted(api, session)
    summary = from_bytes(Summary.objects.get(pk=result["summary"]).body)
    assert "parser_x9" in summary


def test_open_calls_are_not_touched(api: Api) -> None:
    session = long_session(api)
    call, result = tool_turn("open-1", "finally")
    say(api, session, call)
    compacted(api, session)
    say(api, session, result)
    body = context(api, session)
    assert body["report"]["repaired"] == []
    assert body["messages"][-1]["tool_call_id"] == "open-1"


def test_what_was_appended_meanwhile_is_in_the_next_view(api: Api) -> None:
    session = long_session(api)
    job_id = api.post(f"{session}/compact", {}).json()["job"]
    say(api, session, user("Written while the worker was busy."))
    work_off()
    assert Job.objects.get(pk=job_id).state == Job.State.DONE
    body = context(api, session)
    assert body["messages"][-1]["content"] == "Written while the worker was busy."
    assert row_of(session).head_seq == 61


def test_every_message_is_in_exactly_one_state(api: Api) -> None:
    session = long_session(api)
    compacted(api, session)
    row = row_of(session)
    states = [message_state(row, message) for message in row.messages.order_by("seq")]
    assert states == ["summarised"] * row.base_seq + ["live"] * (60 - row.base_seq)


def test_a_dry_run_shows_the_plan_and_changes_nothing(api: Api) -> None:
    session = long_session(api)
    before = row_of(session).epoch
    plan = api.post(f"{session}/compact", {"dry_run": True}).json()["plan"]
    assert plan["possible"] and plan["after"] < plan["before"]
    assert row_of(session).epoch == before
    assert not Job.objects.filter(payload__contains="by hand").exists()


# What makes a compaction due


def test_crossing_the_threshold_makes_it_due_once(api: Api) -> None:
    session = opened(api)
    answer = say(api, session, *turns(40))
    assert answer["budget"]["flags"]["compact"]
    say(api, session, *turns(1, first=40))
    assert Job.objects.filter(kind="compact_session").count() == 1


def test_dropped_messages_make_it_due_whatever_the_ratio(api: Api) -> None:
    session = opened(api, model="gpt-4-32k")
    say(api, session, *turns(20))
    assert context(api, session, max_output=30_000)["report"]["dropped_unsummarised"] > 0
    assert Job.objects.filter(kind="compact_session").exists()


def test_a_model_switch_that_overflows_makes_it_due(api: Api) -> None:
    session = opened(api, model="claude-3-opus")
    say(api, session, *turns(30))
    assert not Job.objects.exists()
    body = api.patch(session, {"model": "gpt-3.5-turbo"}).json()
    assert body["budget"]["over"]
    (job,) = work_off()
    assert job.state == Job.State.DONE
    assert row_of(session).counted_tokens <= 3276


def test_one_compaction_is_open_per_session(api: Api) -> None:
    session = long_session(api)
    first = api.post(f"{session}/compact", {}).json()["job"]
    second = api.post(f"{session}/compact", {}).json()["job"]
    assert first == second
    assert Job.objects.filter(kind="compact_session").count() == 1


def test_a_profile_can_leave_it_to_the_agent(api: Api) -> None:
    session = opened(api, model="claude-3-opus", profile="stream-coding-agent", task="the parser")
    answer = record(api, session, {"type": "message", "message": user("go")}, usage(170_000))
    assert [row["text"] for row in answer["interventions"]] == ["/compact focus on the parser"]
    assert not Job.objects.exists()


def test_a_session_without_words_is_never_compacted(api: Api) -> None:
    session = long_session(api)
    AgentSession.objects.update(keeps_content=False)
    Job.objects.all().delete()
    say(api, session, *turns(20, first=30))
    assert not Job.objects.exists()
    answer = api.post(f"{session}/compact", {})
    assert (answer.status_code, answer.json()["code"]) == (409, "content_not_kept")


# What is refused


def test_a_floor_larger_than_the_budget_is_refused_with_the_number(api: Api) -> None:
    session = opened(api)
    api.put(f"{session}/sections/system_prompt", {"content": "rule " * 7000})
    say(api, session, *turns(10))
    answer = api.post(f"{session}/compact", {})
    assert (answer.status_code, answer.json()["code"]) == (409, "floor_too_large")
    assert answer.json()["floor_tokens"] > 6553
    assert "larger model" in answer.json()["detail"]


def test_a_short_session_has_nothing_to_fold(api: Api) -> None:
    session = opened(api)
    say(api, session, user("hello"))
    answer = api.post(f"{session}/compact", {})
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_fold")


def test_a_due_compaction_that_cannot_help_says_so_and_is_not_tried_at_every_turn(api: Api) -> None:
    session = opened(api)
    api.put(f"{session}/sections/system_prompt", {"content": "rule " * 7000})
    for number in range(25):
        say(api, session, *turns(1, first=number, words=10))
        work_off()
    assert signal_kinds(api, session).count("COMPACTION_FAILED") < 6
    assert row_of(session).compactions == 0


@pytest.mark.parametrize(
    ("model", "system_words", "turn_words"),
    [
        ("gpt-4", 0, 60),
        ("gpt-3.5-turbo", 1500, 300),  # the floor is close to the target
        ("gpt-3.5-turbo", 0, 1200),  # every turn is larger than a third of the window
    ],
)
def test_it_cannot_go_on_for_ever(api: Api, model: str, system_words: int, turn_words: int) -> None:
    """However it is pushed: the runs are bounded by what was said, and pushing alone starts none."""
    session = opened(api, model=model)
    if system_words:
        api.put(f"{session}/sections/system_prompt", {"content": "rule " * system_words})
    said = 0
    for number in range(20):
        say(api, session, *turns(1, first=number, words=turn_words))
        said += 1
        for _ in range(4):
            api.post(f"{session}/context", {})
            api.post(f"{session}/pressure/clear", {"flags": ["warning", "compact"]})
            record(api, session, usage(8000))
            work_off()
    started = Job.objects.filter(kind="compact_session").count()
    assert 0 < started <= said
    before = started
    for _ in range(10):
        record(api, session, usage(8000))
        api.post(f"{session}/context", {})
        work_off()
    assert Job.objects.filter(kind="compact_session").count() <= before + 1


# What is said


def test_it_says_what_happened_in_order(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(40))
    work_off()
    payload = next(row["payload"] for row in signals(api, session) if row["kind"] == "COMPACTED")
    low, start, compressed, adjusted = payload["messages"]
    assert low.startswith("[Budget] Low budget alert! ")
    assert start == "[Memory] Context threshold reached, compressing..."
    assert compressed.startswith(
        f"[Memory] Compressed: {payload['before']} → {payload['after']} tokens (archived "
    )
    assert adjusted == "[Budget] Compressed and adjusted budget for next call"


def test_the_level_falls_with_the_fold(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(40))
    assert row_of(session).level == "critical"
    work_off()
    assert row_of(session).level == "normal"
    budget = api.get(f"{session}/budget").json()
    assert budget["flags"] == {"warning": False, "compact": False}


def test_a_report_of_the_old_epoch_does_not_fire_again(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(40))
    record(api, session, usage(6500))
    work_off()
    say(api, session, user("next"))
    assert row_of(session).reported_prompt is None
    assert Job.objects.filter(kind="compact_session").count() == 1


def test_a_compaction_that_dies_tells_its_session_and_the_webhooks(
    api: Api, manage_key: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ALLOW_PRIVATE_ADDRESSES = True
    hook = {"url": "http://127.0.0.1:9/x", "events": ["JOB_DEAD", "COMPACTION_FAILED"]}
    assert api.post("/webhooks", hook, key=manage_key).status_code == 201
    session = opened(api)
    say(api, session, *turns(30))
    job = api.post(f"{session}/compact", {}).json()["job"]
    monkeypatch.setitem(registry._handlers, COMPACT_JOB, lambda job: fail_for_good())
    run_job(job)
    (failed,) = [row for row in signals(api, session) if row["kind"] == "COMPACTION_FAILED"]
    assert failed["payload"] == {"reason": "job_dead", "detail": "The disk is full.", "job": job}
    kinds = WebhookDelivery.objects.order_by("kind").values_list("kind", flat=True)
    assert list(kinds) == ["COMPACTION_FAILED", "JOB_DEAD"]


def fail_for_good() -> dict[str, Any]:
    raise registry.JobFailed("The disk is full.", final=True)
