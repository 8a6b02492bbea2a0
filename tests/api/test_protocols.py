"""/protocols and loading them into a session."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.client import Api
from tests.session_calls import context, opened, record, row_of, sent_text, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(manage_key: str) -> Api:
    return Api(key=manage_key)


def register(manager: Api, name: str, **fields: Any) -> dict[str, Any]:
    answer = manager.post("/protocols", {"name": name, **fields})
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


@pytest.fixture
def session(api: Api) -> str:
    return opened(api, model="claude-3-opus", profile="checkpoint-protocol")


@pytest.mark.parametrize(("size", "tokens"), [("small", 500), ("medium", 1000), ("large", 1500)])
def test_a_size_class_stands_in_for_a_text(manager: Api, size: str, tokens: int) -> None:
    assert register(manager, "p", size=size)["tokens"] == tokens


def test_a_text_is_counted(manager: Api) -> None:
    assert 50 <= register(manager, "p", text="word " * 50, size="large")["tokens"] <= 60


def test_registering_again_replaces(manager: Api) -> None:
    first = register(manager, "review", size="small", action="review")
    second = register(manager, "review", size="large", action="audit")
    assert first["id"] == second["id"]
    items = manager.get("/protocols").json()["items"]
    assert [(row["name"], row["action"], row["tokens"]) for row in items] == [("review", "audit", 1500)]


def test_agents_read_the_registry_and_do_not_change_it(api: Api, manager: Api) -> None:
    register(manager, "review")
    assert [row["name"] for row in api.get("/protocols").json()["items"]] == ["review"]
    assert api.post("/protocols", {"name": "mine"}).status_code == 403


def test_the_registry_belongs_to_the_project(api: Api, manager: Api, session: str, other_key: str) -> None:
    register(manager, "review", size="small")
    assert Api(key=other_key).get("/protocols").json()["items"] == []
    theirs = opened(Api(key=other_key))
    assert Api(key=other_key).post(f"{theirs}/protocols/review/load").status_code == 404


def test_loading_gives_the_text_and_the_running_total(api: Api, manager: Api, session: str) -> None:
    register(manager, "review", text="Look twice.", action="review code")
    body = api.post(f"{session}/protocols/review/load").json()
    assert body["text"] == "Look twice."
    assert body["loaded"] == {"review": body["parts"]["protocols"]}
    assert body["total"] == sum(body["parts"].values()) == row_of(session).counted_tokens
    assert body["parts"]["base"] == 2000


def test_the_action_loads_it_too(api: Api, manager: Api, session: str) -> None:
    register(manager, "review", text="Look twice.", action="code")
    assert api.post(f"{session}/protocols/code/load").json()["text"] == "Look twice."


def test_unloading_leaves_a_reference_that_loads_again(api: Api, manager: Api, session: str) -> None:
    register(manager, "review", text="Look twice.")
    api.post(f"{session}/protocols/review/load")
    body = api.post(f"{session}/protocols/review/unload").json()
    assert (body["loaded"], body["references"], body["parts"]["protocols"]) == ({}, ["review"], 0)
    assert api.post(f"{session}/protocols/review/load").json()["references"] == []


def test_a_loaded_protocol_is_in_the_context(api: Api, manager: Api, session: str) -> None:
    register(manager, "review", text="Look twice.")
    record(
        api, session, {"type": "protocol_load", "name": "review"}, {"type": "message", "message": user("go")}
    )
    assert "Look twice." in sent_text(context(api, session))
    record(api, session, {"type": "protocol_unload", "name": "review"})
    assert "Look twice." not in sent_text(context(api, session))


def test_unknown_and_unloaded_ones_are_not_found(api: Api, manager: Api, session: str) -> None:
    register(manager, "review")
    assert api.post(f"{session}/protocols/nothing/load").json()["code"] == "unknown_protocol"
    assert api.post(f"{session}/protocols/review/unload").json()["code"] == "protocol_not_loaded"


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "p", "size": "huge"}, {"name": "p", "text": 5}])
def test_it_refuses_a_bad_entry(manager: Api, body: dict[str, object]) -> None:
    assert manager.post("/protocols", body).status_code == 422
