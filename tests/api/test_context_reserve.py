"""POST /sessions/{id}/context with `reserve`: assembling and holding money in one call."""

from __future__ import annotations

import pytest

from tests.api.client import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(api: Api) -> str:
    path = f"/sessions/{api.post('/sessions', {'model': 'gpt-4'}).json()['id']}"
    event = {"type": "message", "message": {"role": "user", "content": "hello"}}
    api.post(f"{path}/events", {"events": [event]})
    return path


def set_cap(api: Api, session: str, limit: str, key: str) -> None:
    cap = {"scope": "session", "scope_id": session.rpartition("/")[2], "limit_usd": limit, "period": "total"}
    assert api.post("/caps", cap, key=key).status_code == 201


def test_it_holds_what_was_assembled(api: Api, session: str, manage_key: str) -> None:
    set_cap(api, session, "1", manage_key)
    body = api.post(f"{session}/context", {"reserve": True, "max_output": 100}).json()
    assert body["hold"]["id"].startswith("hold_")
    # gpt-4: 30 and 60 dollars a million tokens
    expected = body["report"]["tokens"] * 30e-6 + 100 * 60e-6
    assert float(body["hold"]["amount_usd"]) == pytest.approx(expected)


def test_it_refuses_and_pauses_when_the_cap_is_spent(api: Api, session: str, manage_key: str) -> None:
    set_cap(api, session, "0.001", manage_key)
    refused = api.post(f"{session}/context", {"reserve": True, "max_output": 1000})
    assert (refused.status_code, refused.json()["code"]) == (402, "cap_reached")
    assert refused.headers["x-should-retry"] == "false"
    assert api.get(session).json()["state"] == "paused"
    again = api.post(f"{session}/context", {})
    assert (again.status_code, again.json()["code"]) == (402, "cap_reached")


def test_a_session_paused_by_hand_answers_409(api: Api, session: str) -> None:
    api.patch(session, {"state": "paused"})
    answer = api.post(f"{session}/context", {})
    assert (answer.status_code, answer.json()["code"]) == (409, "session_paused")
    recorded = api.post(f"{session}/events", {"events": [{"type": "note", "text": "still recorded"}]})
    assert recorded.status_code == 201
