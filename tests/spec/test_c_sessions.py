"""C1, C2, C3, C5, C7 and C8 over REST."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.client import Api
from tests.session_calls import (
    assistant,
    context,
    opened,
    record,
    row_of,
    say,
    sent_text,
    signals,
    turns,
    usage,
    user,
)

pytestmark = pytest.mark.django_db

PLACE = {"epic": "jira:77", "story": "S2", "phase": "build", "task": "4", "commit": "abc1234"}


def protocol(api: Api, **fields: Any) -> str:
    return opened(api, model="claude-3-opus", profile="checkpoint-protocol", **fields)


@pytest.mark.parametrize(
    ("used", "level", "set_flags", "cleared"),
    [
        (35_000, "normal", [], False),
        (35_001, "warning", ["warning"], False),
        (40_000, "warning", ["warning"], False),
        (40_001, "critical", [], True),  # cleared: a new epoch begins without flags
    ],
)
def test_c1_prepare_and_clear_at_absolute_limits(
    api: Api, used: int, level: str, set_flags: list[str], cleared: bool
) -> None:
    session = protocol(api)
    assert row_of(session).counted_tokens == 2_000
    say(api, session, *turns(2))
    answer = record(api, session, usage(used))
    assert [flag for flag, is_set in answer["budget"]["flags"].items() if is_set] == set_flags
    assert bool(answer["interventions"]) is cleared
    assert (row_of(session).epoch == 1) is cleared
    if not cleared:
        assert answer["budget"]["level"] == level


def test_c1_the_hard_limit_is_the_window(api: Api) -> None:
    session = protocol(api)
    answer = record(api, session, usage(200_001))
    assert "CONTEXT_EXHAUSTED" in [row["kind"] for row in answer["signals"]]


def test_c2_by_hand_both_commands_run_the_full_clear(api: Api) -> None:
    for command in ("*checkpoint", "*clear"):
        session = protocol(api)
        answer = say(api, session, *turns(2), user(f"Please:\n{command}"))
        assert [row["kind"] for row in answer["interventions"]] == ["clear"]
        assert row_of(session).base_seq == row_of(session).head_seq


def test_c3_the_sequence_is_written_signalled_shown_and_resumed(api: Api) -> None:
    session = protocol(api, goal="Ship it")
    say(api, session, *turns(4))
    answer = record(api, session, {"type": "checkpoint", **PLACE})
    kinds = [row["kind"] for row in answer["signals"]]
    assert kinds == ["CHECKPOINT_WRITE", "CONTEXT_CLEARED"]
    line = "SAGE_SIGNAL:CHECKPOINT:WRITE:jira%3A77:S2:build:4"
    payload = answer["signals"][0]["payload"]
    assert payload["line"] == line
    (told,) = answer["interventions"]
    assert told["text"] == (
        f"{line}\n"
        "---\n"
        "CHECKPOINT SAVED\n"
        "Epic: jira:77 | Story: S2\n"
        "Phase: build | Task: 4\n"
        "Commit: abc1234\n"
        "\n"
        "Context cleared. Resuming from checkpoint.\n"
        "---\n"
        "The checkpoint is saved. Exit now; the next start resumes from it."
    )
    checkpoint = api.get(f"{session}/checkpoints/{payload['checkpoint']}").json()
    assert checkpoint["position"] == PLACE
    assert checkpoint["head_seq"] == 8
    text = sent_text(context(api, session))
    assert "Ship it" in text and "Summary of messages 1–8" in text


def test_c5_the_running_total_has_its_parts(api: Api, manage_key: str) -> None:
    Api(key=manage_key).post("/protocols", {"name": "review", "size": "medium"})
    session = protocol(api)
    say(
        api,
        session,
        user("hello there"),
        assistant("hello"),
        {"role": "tool", "tool_call_id": "x", "content": "out"},
    )
    body = api.post(f"{session}/protocols/review/load").json()
    parts = body["parts"]
    assert (parts["base"], parts["protocols"]) == (2_000, 1_000)
    assert min(parts["user_messages"], parts["generated_text"], parts["tool_outputs"]) > 0
    assert body["total"] == sum(parts.values()) == api.get(f"{session}/budget").json()["used"]


def test_c7_the_result_is_validated_and_recorded_in_the_parent(api: Api) -> None:
    session = protocol(api)
    say(api, session, user("A secret of the parent."))
    schema = {"type": "object", "required": ["files_changed", "tests_passed", "notes"]}
    child = api.post(
        f"{session}/children", {"task": "Fix it", "files": {"a.py": "x = 1"}, "expect": schema}
    ).json()["id"]
    text = sent_text(context(api, f"/sessions/{child}"))
    assert "Fix it" in text and "x = 1" in text and "files_changed" in text
    assert "secret of the parent" not in text
    assert api.post(f"/sessions/{child}/result", {"result": "done"}).status_code == 422
    result = {"files_changed": ["a.py"], "tests_passed": True, "notes": ""}
    assert api.post(f"/sessions/{child}/result", {"result": result}).status_code == 200
    told = [row["payload"]["result"] for row in signals(api, session) if row["kind"] == "SUBAGENT_COMPLETE"]
    assert told == [result]


def test_c8_exhaustion_is_recoverable(api: Api) -> None:
    session = protocol(api, goal="Ship it")
    record(api, session, *({"type": "message", "message": m} for m in turns(4)), usage(250_000))
    answer = api.post(f"{session}/context", {})
    body = answer.json()
    assert (answer.status_code, body["code"]) == (409, "context_exhausted")
    resume = api.get(f"{session}/checkpoints/{body['resume_from']}").json()
    assert (resume["head_seq"], resume["reason"]) == (8, "context_size")
    resumed = context(api, session)
    assert "Ship it" in sent_text(resumed)
    assert resumed["report"]["tokens"] < 3_000
