"""/sessions/{id}/checkpoints: write, list, read, compare, restore."""

from __future__ import annotations

import pytest

from tests.api.client import Api
from tests.session_calls import compacted, opened, say, signal_kinds, turns, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(api: Api) -> str:
    path = opened(api, goal="Ship it")
    say(api, path, *turns(3))
    return path


def test_it_writes_one_with_where_the_work_stands(api: Api, session: str) -> None:
    place = {"epic": "E1", "story": "S2", "phase": "build", "task": "4", "commit": "abc1234"}
    answer = api.post(f"{session}/checkpoints", {**place, "reason": "before lunch"})
    assert answer.status_code == 201
    body = answer.json()
    assert body["id"].startswith("ckpt_")
    assert (body["number"], body["reason"], body["position"]) == (1, "before lunch", place)
    assert (body["head_seq"], body["base_seq"], body["epoch"]) == (6, 0, 0)


def test_the_place_is_remembered_until_it_changes(api: Api, session: str) -> None:
    api.post(f"{session}/checkpoints", {"epic": "E1", "phase": "plan"})
    body = api.post(f"{session}/checkpoints", {"phase": "build"}).json()
    assert body["position"] == {"epic": "E1", "phase": "build"}


def test_clear_runs_the_whole_sequence(api: Api, session: str) -> None:
    answer = api.post(f"{session}/checkpoints", {"epic": "E1", "clear": True})
    assert answer.status_code == 201
    assert signal_kinds(api, session)[-2:] == ["CHECKPOINT_WRITE", "CONTEXT_CLEARED"]
    (waiting,) = api.get(f"{session}/interventions").json()["items"]
    assert waiting["text"].startswith("SAGE_SIGNAL:CHECKPOINT:WRITE:E1:::\n---\nCHECKPOINT SAVED\n")


def test_it_lists_the_newest_first_in_pages(api: Api, session: str) -> None:
    for _ in range(3):
        api.post(f"{session}/checkpoints", {})
    first = api.get(f"{session}/checkpoints?limit=2").json()
    assert [row["number"] for row in first["items"]] == [3, 2]
    assert "content" not in first["items"][0]
    second = api.get(f"{session}/checkpoints?limit=2&cursor={first['next']}").json()
    assert ([row["number"] for row in second["items"]], second["next"]) == ([1], None)


def test_it_is_read_by_number_or_id(api: Api, session: str) -> None:
    body = api.post(f"{session}/checkpoints", {}).json()
    by_number = api.get(f"{session}/checkpoints/1").json()
    assert by_number == api.get(f"{session}/checkpoints/{body['id']}").json()
    assert by_number["content"]["sections"] == {"goal": "Ship it"}


def test_an_unknown_one_is_not_found(api: Api, session: str) -> None:
    for ref in ("7", "ckpt_nothing", "99999999999999999999"):
        assert api.get(f"{session}/checkpoints/{ref}").status_code == 404
        assert api.post(f"{session}/checkpoints/{ref}/restore", {}).status_code == 404


def test_another_sessions_checkpoint_is_not_found(api: Api, session: str) -> None:
    other = opened(api)
    foreign = api.post(f"{other}/checkpoints", {}).json()["id"]
    assert api.get(f"{session}/checkpoints/{foreign}").status_code == 404


def test_a_diff_says_what_changed_and_what_a_summary_lost(api: Api) -> None:
    session = opened(api, goal="First")
    say(api, session, *turns(30))
    entry = api.post(f"{session}/memory", {"text": "old"}).json()["id"]
    api.post(f"{session}/checkpoints", {})
    api.patch(session, {"goal": "Second"})
    api.patch(f"{session}/memory/{entry}", {"text": "new"})
    compacted(api, session)
    say(api, session, user("one more"))
    last = api.post(f"{session}/checkpoints", {}).json()["number"]
    diff = api.get(f"{session}/checkpoints/1/diff?against={last}").json()
    assert diff["sections"] == {"added": [], "removed": [], "changed": ["goal"]}
    assert diff["memory"]["changed"] == [entry]
    assert diff["messages"]["added"] == {"from_seq": 61, "to_seq": 61, "count": 1}
    assert diff["messages"]["summarised"]["from_seq"] == 1
    assert diff["tokens"]["summary"] > 0 and diff["tokens"]["user"] < 0
    assert {row["kind"] for row in diff["lost_in_summary"]} <= {"path", "number", "identifier"}
    assert diff["lost_in_summary"]
    assert all(len(row["text"]) > 2 for row in diff["lost_in_summary"] if row["kind"] == "number")


def test_a_diff_needs_something_to_compare_with(api: Api, session: str) -> None:
    api.post(f"{session}/checkpoints", {})
    assert api.get(f"{session}/checkpoints/1/diff").status_code == 422
    assert api.get(f"{session}/checkpoints/1/diff?against=9").status_code == 404


@pytest.mark.parametrize(
    "body", [{"mode": "tail"}, {"items": "goal"}, {"dry_run": 1}, {"external_id": "a b"}, {"unknown": 1}]
)
def test_it_refuses_a_bad_restore(api: Api, session: str, body: dict[str, object]) -> None:
    api.post(f"{session}/checkpoints", {})
    assert api.post(f"{session}/checkpoints/1/restore", body).status_code == 422


def test_readers_may_look_and_not_touch(api: Api, session: str, read_key: str) -> None:
    api.post(f"{session}/checkpoints", {})
    assert api.get(f"{session}/checkpoints", key=read_key).status_code == 200
    assert api.post(f"{session}/checkpoints", {}, key=read_key).status_code == 403
    assert api.post(f"{session}/checkpoints/1/restore", {}, key=read_key).status_code == 403
