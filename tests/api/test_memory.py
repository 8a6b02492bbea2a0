"""/sessions/{id}/memory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.client import Api
from tests.session_calls import opened, row_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(api: Api) -> str:
    return opened(api)


def add(api: Api, session: str, text: str, **fields: Any) -> dict[str, Any]:
    answer = api.post(f"{session}/memory", {"text": text, **fields})
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_it_adds_an_entry_with_its_source(api: Api, session: str) -> None:
    body = add(api, session, "uses tabs", kind="preference", priority=70, pinned=True, key="indent")
    assert body["id"].startswith("mem_")
    assert (body["kind"], body["text"], body["priority"], body["pinned"]) == (
        "preference",
        "uses tabs",
        70,
        True,
    )
    assert body["key"] == "indent"
    assert body["source"].startswith("key:")


def test_it_lists_pinned_first_then_by_priority_then_the_newest(api: Api, session: str) -> None:
    add(api, session, "low", priority=1)
    add(api, session, "older", priority=50)
    add(api, session, "newer", priority=50)
    add(api, session, "pinned", priority=0, pinned=True)
    texts = [row["text"] for row in api.get(f"{session}/memory").json()["items"]]
    assert texts == ["pinned", "newer", "older", "low"]


def test_the_same_key_replaces(api: Api, session: str) -> None:
    add(api, session, "tabs", key="indent")
    add(api, session, "spaces", key="indent")
    assert [row["text"] for row in api.get(f"{session}/memory").json()["items"]] == ["spaces"]


def test_it_changes_some_fields_and_leaves_the_others(api: Api, session: str) -> None:
    entry = add(api, session, "uses tabs", priority=5)["id"]
    body = api.patch(f"{session}/memory/{entry}", {"pinned": True}).json()
    assert (body["text"], body["priority"], body["pinned"]) == ("uses tabs", 5, True)
    body = api.patch(f"{session}/memory/{entry}", {"text": "uses spaces", "kind": "decision"}).json()
    assert (body["text"], body["kind"]) == ("uses spaces", "decision")


def test_it_removes_an_entry(api: Api, session: str) -> None:
    entry = add(api, session, "gone soon")["id"]
    assert api.delete(f"{session}/memory/{entry}").status_code == 204
    assert api.get(f"{session}/memory").json()["items"] == []
    assert api.delete(f"{session}/memory/{entry}").status_code == 404
    assert api.patch(f"{session}/memory/{entry}", {"pinned": True}).status_code == 404


def test_its_weight_is_part_of_the_live_view(api: Api, session: str) -> None:
    entry = add(api, session, "word " * 100)["id"]
    weight = row_of(session).parts["memory"]
    assert weight >= 100
    api.patch(f"{session}/memory/{entry}", {"text": "short"})
    assert row_of(session).parts["memory"] < weight
    api.delete(f"{session}/memory/{entry}")
    assert row_of(session).parts["memory"] == 0


def test_any_text_comes_back_as_it_was(api: Api, session: str) -> None:
    text = "NUL \x00 and a lone \ud800 surrogate, 漢字"
    assert add(api, session, text)["text"] == text
    assert api.get(f"{session}/memory").json()["items"][0]["text"] == text


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": 5},
        {"text": "x", "kind": "rumour"},
        {"text": "x", "priority": -1},
        {"text": "x", "priority": 1001},
        {"text": "x", "priority": True},
        {"text": "x", "pinned": 1},
        {"text": "x", "source": "me"},
        {"text": "x", "key": "k" * 5000},
    ],
)
def test_it_refuses_a_bad_entry(api: Api, session: str, body: dict[str, object]) -> None:
    assert api.post(f"{session}/memory", body).status_code == 422


def test_another_sessions_entry_is_not_found(api: Api, session: str) -> None:
    other = opened(api)
    entry = add(api, other, "theirs")["id"]
    assert api.patch(f"{session}/memory/{entry}", {"pinned": True}).status_code == 404


def test_readers_may_look_and_not_touch(api: Api, session: str, read_key: str) -> None:
    entry = add(api, session, "x")["id"]
    assert api.get(f"{session}/memory", key=read_key).status_code == 200
    assert api.post(f"{session}/memory", {"text": "y"}, key=read_key).status_code == 403
    assert api.delete(f"{session}/memory/{entry}", key=read_key).status_code == 403
