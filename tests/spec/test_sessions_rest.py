"""Rows of the specification that need a whole session, shown through REST."""

from __future__ import annotations

from typing import Any

import pytest

from kernel.models import Job
from kernel.tasks import run_job
from tests.api.client import Api

pytestmark = pytest.mark.django_db


def opened(api: Api, **fields: Any) -> str:
    answer = api.post("/sessions", {"model": "gpt-4", **fields})
    assert answer.status_code == 201, answer.content
    return f"/sessions/{answer.json()['id']}"


def report(api: Api, session: str, *events: dict[str, Any]) -> dict[str, Any]:
    answer = api.post(f"{session}/events", {"events": list(events)})
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


def said(role: str, content: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": content}}


def used(tokens: int) -> dict[str, Any]:
    return {"type": "usage", "usage": {"input_tokens": tokens, "output_tokens": 10}}


def kinds(api: Api, session: str) -> list[str]:
    return [row["kind"] for row in api.get(f"{session}/signals").json()["items"]]


def run_jobs() -> None:
    for job_id in Job.objects.filter(state=Job.State.QUEUED).values_list("pk", flat=True):
        run_job(job_id)


def test_r6_switching_the_model_rebudgets_at_once_and_makes_compaction_due(api: Api) -> None:
    session = opened(api, model="claude-3-opus")
    for _ in range(12):
        report(api, session, said("user", "word " * 300), said("assistant", "answer " * 300))
    small = api.patch(session, {"model": "gpt-4"}).json()["budget"]
    assert (small["total"], small["compaction_target"]) == (6553, 4096)
    assert small["over"]
    assert Job.objects.filter(kind="compact_session").exists()
    large = api.patch(session, {"model": "claude-3-opus"}).json()["budget"]
    assert (large["total"], large["over"]) == (160_000, False)


def test_r14_retrieved_context_answers_the_query_with_a_back_reference(api: Api) -> None:
    session = opened(api)
    report(api, session, said("user", "The staging password rotates on the 14th; ask Miriam Okafor."))
    for number in range(40):
        report(
            api, session, said("user", f"step {number} " + "filler " * 60), said("assistant", "done " * 80)
        )
    run_jobs()
    body = api.post(f"{session}/context", {"query": "who knows when the staging password rotates?"}).json()
    assert body["report"]["dropped_unsummarised"] == 0
    retrieved = next(row for row in body["report"]["sections"] if row["name"] == "retrieved_context")
    assert retrieved["kept"] >= 1
    assert "[#1]" in str(body["messages"])
    original = api.get(f"{session}/messages?seq=1").json()["items"][0]["message"]["content"]
    assert "Miriam Okafor" in original


def test_t9_a_due_compaction_waits_until_the_next_turn_begins_with_it(api: Api) -> None:
    session = opened(api, profile="stream-coding-agent", model="claude-3-opus", task="the parser")
    report(api, session, {"type": "state_change", "previous": "plan", "new": "build"}, used(157_000))
    waiting = api.get(f"{session}/interventions").json()["items"]
    text = "/compact focus on the parser -- current CfA state is build"
    assert [row["text"] for row in waiting] == [text]
    assert api.get(f"{session}/interventions").json()["items"] == waiting
    report(api, session, said("user", "go on"))
    context = api.post(f"{session}/context", {}).json()
    assert [row["text"] for row in context["interventions"]] == [text]
    assert text in str(context["messages"])


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "story_complete", "epic": "E1", "story": "S1"}],
        [{"type": "phase", "phase": "plan"}, {"type": "phase", "phase": "build"}],
        [{"type": "subagent_complete", "subagent": str(n), "batch": "b"} for n in range(5)],
        [said("user", "*checkpoint")],
        [said("user", "*clear")],
        [said("assistant", "CHECKPOINT:WRITE")],
        [used(40_001)],
    ],
    ids=["story", "phase", "five subagents", "*checkpoint", "*clear", "signal", "size"],
)
def test_c2_each_trigger_checkpoints_and_clears(api: Api, events: list[dict[str, Any]]) -> None:
    session = opened(api, profile="checkpoint-protocol", model="claude-3-opus")
    report(api, session, said("user", "begin"), said("assistant", "working on it"))
    report(api, session, *events)
    assert {"CHECKPOINT_WRITE", "CONTEXT_CLEARED"} <= set(kinds(api, session))
    assert api.get(f"{session}/checkpoints").json()["items"]


def test_c2_four_subagents_are_not_enough_and_the_count_starts_over(api: Api) -> None:
    session = opened(api, profile="checkpoint-protocol", model="claude-3-opus")
    done = {"type": "subagent_complete", "subagent": "a", "batch": "b"}
    report(api, session, said("user", "begin"), *[done] * 4)
    assert "CHECKPOINT_WRITE" not in kinds(api, session)
    report(api, session, done)
    assert kinds(api, session).count("CHECKPOINT_WRITE") == 1
    report(api, session, said("user", "again"), *[done] * 4)
    assert kinds(api, session).count("CHECKPOINT_WRITE") == 1


def test_c5_the_running_total_shows_its_parts(api: Api, manage_key: str) -> None:
    api.post("/protocols", {"name": "write-checkpoint", "size": "medium"}, key=manage_key)
    session = opened(api, profile="checkpoint-protocol", model="claude-3-opus")
    report(api, session, said("user", "hello there"), said("assistant", "hi"))
    total = api.post(f"{session}/protocols/write-checkpoint/load").json()
    parts = total["parts"]
    assert (parts["base"], parts["protocols"]) == (2000, 1000)
    assert parts["user_messages"] > 0 and parts["generated_text"] > 0 and parts["tool_outputs"] == 0
    assert total["total"] == sum(parts.values())


def test_c6_protocols_are_loaded_by_their_action_and_unloaded_to_a_reference(
    api: Api, manage_key: str
) -> None:
    entry = {"name": "checkpoint/write", "text": "Write it down.", "action": "write-checkpoint"}
    assert api.post("/protocols", entry | {"name": "writing"}, key=manage_key).status_code == 201
    session = opened(api, profile="checkpoint-protocol", model="claude-3-opus")
    loaded = api.post(f"{session}/protocols/write-checkpoint/load").json()
    assert loaded["text"] == "Write it down."
    assert list(loaded["loaded"]) == ["writing"]
    unloaded = api.post(f"{session}/protocols/writing/unload").json()
    assert (unloaded["loaded"], unloaded["references"]) == ({}, ["writing"])
    assert unloaded["parts"]["protocols"] == 0
    again = api.post(f"{session}/protocols/writing/load").json()
    assert list(again["loaded"]) == ["writing"]


def test_c7_a_child_gets_its_task_and_never_the_parents_history(api: Api) -> None:
    parent = opened(api)
    report(api, parent, said("user", "the parent's secret plan"))
    schema = {
        "type": "object",
        "required": ["files_changed", "tests_passed"],
        "properties": {"files_changed": {"type": "array"}, "tests_passed": {"type": "boolean"}},
    }
    wish = {"task": "fix the parser", "files": {"src/parser.py": "def parse(): ..."}, "expect": schema}
    child = api.post(f"{parent}/children", wish).json()
    path = f"/sessions/{child['id']}"
    sent = str(api.post(f"{path}/context", {}).json())
    assert "fix the parser" in sent and "src/parser.py" in sent and "tests_passed" in sent
    assert "secret plan" not in sent
    refused = api.post(f"{path}/result", {"result": {"files_changed": "all"}})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_result")
    result = {"files_changed": ["src/parser.py"], "tests_passed": True}
    assert api.post(f"{path}/result", {"result": result}).status_code == 200
    assert "SUBAGENT_COMPLETE" in kinds(api, parent)


def test_c8_an_exhausted_context_is_checkpointed_and_resumes(api: Api) -> None:
    session = opened(api, profile="checkpoint-protocol", model="gpt-4")
    report(api, session, said("user", "begin"), said("assistant", "working"), used(8_193))
    refused = api.post(f"{session}/context", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "context_exhausted")
    assert refused.json()["resume_from"].startswith("ckpt_")
    assert "CONTEXT_EXHAUSTED" in kinds(api, session)
    report(api, session, said("user", "resume"))
    assert api.post(f"{session}/context", {}).status_code == 200
