"""POST /sessions/{id}/children and POST /sessions/{id}/result."""

from __future__ import annotations

from typing import Any

import pytest

from sessions.models import AgentSession
from tests.api.client import Api
from tests.session_calls import context, opened, say, sent_text, signals, turns

pytestmark = pytest.mark.django_db

SCHEMA = {
    "type": "object",
    "required": ["files_changed", "tests_passed"],
    "properties": {
        "files_changed": {"type": "array", "items": {"type": "string"}},
        "tests_passed": {"type": "boolean"},
        "notes": {"type": "string"},
    },
    "additionalProperties": False,
}
RESULT = {"files_changed": ["a.py"], "tests_passed": True, "notes": "done"}


@pytest.fixture
def parent(api: Api) -> str:
    path = opened(api, goal="The parent's own goal")
    say(api, path, *turns(3))
    return path


def child_of(api: Api, parent: str, **fields: Any) -> str:
    body = {"task": "Fix the parser", "files": {"a.py": "print(1)"}, "expect": SCHEMA, **fields}
    answer = api.post(f"{parent}/children", body)
    assert answer.status_code == 201, answer.content
    return f"/sessions/{answer.json()['id']}"


def test_a_child_gets_its_task_files_and_schema_and_nothing_else(api: Api, parent: str) -> None:
    text = sent_text(context(api, child_of(api, parent)))
    for expected in ("Fix the parser", "File a.py:\nprint(1)", '"files_changed"'):
        assert expected in text
    assert "Question" not in text and "parent's own goal" not in text


def test_it_inherits_model_and_profile_unless_told_otherwise(api: Api, parent: str) -> None:
    same, other = child_of(api, parent), child_of(api, parent, model="gpt-4-32k", profile="compact-chat")
    assert (api.get(same).json()["model"], api.get(same).json()["profile"]) == ("gpt-4", "ratio-default")
    assert (api.get(other).json()["model"], api.get(other).json()["profile"]) == ("gpt-4-32k", "compact-chat")
    assert api.get(same).json()["parent"] == parent.removeprefix("/sessions/")


def test_a_valid_result_ends_the_child_and_reaches_the_parent_once(api: Api, parent: str) -> None:
    child = child_of(api, parent)
    for _ in range(2):
        answer = api.post(f"{child}/result", {"result": RESULT})
        assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["result"]) == ("ended", RESULT)
    told = [row["payload"] for row in signals(api, parent) if row["kind"] == "SUBAGENT_COMPLETE"]
    assert told == [{"child": child.removeprefix("/sessions/"), "result": RESULT}]
    assert AgentSession.objects.get(pk=parent.removeprefix("/sessions/")).subagents_done == 1


@pytest.mark.parametrize(
    ("result", "pointer"),
    [
        ({"files_changed": ["a.py"]}, "/result"),
        ({**RESULT, "tests_passed": "yes"}, "/result/tests_passed"),
        ({**RESULT, "files_changed": [1]}, "/result/files_changed/0"),
        ({**RESULT, "extra": 1}, "/result"),
        ("all fine", "/result"),
        (None, "/result"),
    ],
)
def test_anything_else_is_refused_with_the_place(api: Api, parent: str, result: Any, pointer: str) -> None:
    child = child_of(api, parent)
    answer = api.post(f"{child}/result", {"result": result})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_result")
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert api.get(child).json()["state"] == "active"


def test_another_result_is_refused(api: Api, parent: str) -> None:
    child = child_of(api, parent)
    api.post(f"{child}/result", {"result": RESULT})
    answer = api.post(f"{child}/result", {"result": {**RESULT, "notes": "other"}})
    assert (answer.status_code, answer.json()["code"]) == (409, "result_already_recorded")


def test_only_a_child_reports_a_result(api: Api, parent: str) -> None:
    answer = api.post(f"{parent}/result", {"result": RESULT})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_a_child")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"task": 5},
        {"task": "t", "files": {"a": 1}},
        {"task": "t", "expect": {"type": "nonsense"}},
        {"task": "t", "history": True},
    ],
)
def test_it_refuses_a_bad_child(api: Api, parent: str, body: dict[str, object]) -> None:
    assert api.post(f"{parent}/children", body).status_code == 422


def test_another_tenants_session_has_no_children(api: Api, parent: str, other_key: str) -> None:
    assert api.post(f"{parent}/children", {"task": "t"}, key=other_key).status_code == 404


def test_children_are_listed_by_either_id_of_their_parent(api: Api, other_key: str) -> None:
    parent = opened(api, external_id="lead")
    child = child_of(api, parent).removeprefix("/sessions/")
    opened(api)
    for ref in ("ext:lead", parent.removeprefix("/sessions/")):
        assert [row["id"] for row in api.get(f"/sessions?parent={ref}").json()["items"]] == [child]
    assert api.get("/sessions?parent=ext:lead", key=other_key).status_code == 404
