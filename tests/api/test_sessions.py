"""POST, GET and PATCH /sessions: opening, finding and changing a session."""

from __future__ import annotations

import pytest

from tests.api.client import Api
from tests.session_calls import opened, record, signal_kinds, usage

pytestmark = pytest.mark.django_db


def test_it_opens_a_session_with_its_budget(api: Api) -> None:
    answer = api.post("/sessions", {"model": "gpt-4", "profile": "ratio-default", "goal": "Ship it"})
    body = answer.json()
    assert answer.status_code == 201
    assert body["id"].startswith("sess_") and body["state"] == "active"
    assert body["budget"]["total"] == 6553 and body["budget"]["context_window"] == 8192
    assert {row["name"]: row["planned"] for row in body["budget"]["sections"]}["memory"] == 655


def test_an_agents_own_id_opens_one_session_only(api: Api) -> None:
    first = api.post("/sessions", {"model": "gpt-4", "external_id": "run-7"}).json()
    second = api.post("/sessions", {"model": "gpt-4", "external_id": "run-7"})
    assert second.status_code == 409
    assert api.get("/sessions/ext:run-7").json()["id"] == first["id"]


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"external_id": "with space"}, 422, "invalid"),
        ({"profile": "no-such-profile"}, 422, "unknown_profile"),
        ({"parent": "sess_unknown"}, 404, "not_found"),
        ({"surprise": 1}, 422, "unknown_field"),
        ({"metadata": {"name": "\x00"}}, 422, "invalid_text"),
    ],
)
def test_what_it_refuses_opens_nothing(api: Api, fields: dict[str, object], status: int, code: str) -> None:
    answer = api.post("/sessions", {"model": "gpt-4", **fields})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert api.get("/sessions").json()["items"] == []


def test_an_unknown_model_gets_a_fallback_and_says_so(api: Api) -> None:
    budget = api.post("/sessions", {"model": "model-of-tomorrow"}).json()["budget"]
    assert budget["window"]["source"] == "fallback"
    assert budget["context_window"] == 32_000


def test_the_list_is_newest_first_filtered_and_paged(api: Api) -> None:
    paths = [opened(api, model=model) for model in ("gpt-4", "gpt-4", "claude-3-opus")]
    ids = [path.removeprefix("/sessions/") for path in paths]
    page = api.get("/sessions?limit=2").json()
    assert [row["id"] for row in page["items"]] == ids[:0:-1]
    rest = api.get(f"/sessions?limit=2&cursor={page['next']}").json()
    assert [row["id"] for row in rest["items"]] == ids[:1] and rest["next"] is None
    assert [row["id"] for row in api.get("/sessions?model=claude-3-opus").json()["items"]] == ids[2:]


def test_an_unchanged_list_is_not_sent_again(api: Api) -> None:
    opened(api)
    first = api.get("/sessions")
    again = api.get("/sessions", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304 and again.content == b""


def test_a_switch_of_the_model_re_budgets_at_once_and_says_that_it_overflows(api: Api) -> None:
    session = opened(api, model="claude-3-opus")
    record(api, session, usage(20_000))
    changed = api.patch(session, {"model": "gpt-4"}).json()
    assert changed["budget"]["total"] == 6553 and changed["budget"]["over"] is True
    assert changed["model"] == "gpt-4"
    assert "MODEL_SWITCHED" in signal_kinds(api, session)


def test_an_ended_session_takes_no_unknown_state(api: Api) -> None:
    session = opened(api)
    assert api.patch(session, {"state": "ended"}).json()["state"] == "ended"
    assert api.patch(session, {"state": "sleeping"}).status_code == 422
    assert api.get(session).json()["state"] == "ended"
