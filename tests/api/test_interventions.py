"""/sessions/{id}/interventions: what the next turn must begin with."""

from __future__ import annotations

import pytest

from tests.api.client import Api
from tests.session_calls import context, opened, record, sent_text, usage, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(api: Api) -> str:
    """An agent that compacts itself and is above its threshold."""
    path = opened(api, model="claude-3-opus", profile="stream-coding-agent", task="the parser")
    record(api, path, {"type": "message", "message": user("go")}, usage(160_000))
    return path


def waiting(api: Api, session: str) -> list[tuple[str, str]]:
    items = api.get(f"{session}/interventions").json()["items"]
    return [(row["kind"], row["state"]) for row in items]


def test_one_waits_however_often_it_becomes_due(api: Api, session: str) -> None:
    assert waiting(api, session) == [("compact", "pending")]
    record(api, session, usage(165_000))
    assert waiting(api, session) == [("compact", "pending")]
    context(api, session)
    record(api, session, usage(170_000))
    assert waiting(api, session) == [("compact", "delivered")]


def test_every_context_begins_with_it_until_it_is_acknowledged(api: Api, session: str) -> None:
    for _ in range(2):
        body = context(api, session)
        assert [row["kind"] for row in body["interventions"]] == ["compact"]
        assert "/compact focus on the parser" in sent_text(body)
    number = body["interventions"][0]["id"]
    answer = api.post(f"{session}/interventions/{number}/ack")
    assert answer.json()["state"] == "acknowledged"
    assert api.post(f"{session}/interventions/{number}/ack").content == answer.content
    assert waiting(api, session) == []
    assert "/compact" not in sent_text(context(api, session))


def test_it_becomes_due_again_while_the_agent_stays_above(api: Api, session: str) -> None:
    number = api.get(f"{session}/interventions").json()["items"][0]["id"]
    api.post(f"{session}/interventions/{number}/ack")
    record(api, session, usage(165_000))
    assert waiting(api, session) == [("compact", "pending")]


def test_it_is_acknowledged_by_its_number_too(api: Api, session: str) -> None:
    first = api.get(f"{session}/interventions").json()["items"][0]
    assert first["number"] == 1
    assert api.post(f"{session}/interventions/1/ack").json() == {**first, "state": "acknowledged"}
    record(api, session, usage(165_000))
    assert [row["number"] for row in context(api, session)["interventions"]] == [2]
    assert api.post(f"{session}/interventions/2/ack").json()["state"] == "acknowledged"


@pytest.mark.parametrize("ref", ["intv_nothing", "0", "2", "99"])
def test_an_unknown_one_is_not_found(api: Api, session: str, ref: str) -> None:
    assert api.post(f"{session}/interventions/{ref}/ack").status_code == 404


def test_another_tenant_sees_and_acknowledges_nothing(api: Api, session: str, other_key: str) -> None:
    number = api.get(f"{session}/interventions").json()["items"][0]["id"]
    assert api.get(f"{session}/interventions", key=other_key).status_code == 404
    assert api.post(f"{session}/interventions/{number}/ack", key=other_key).status_code == 404
    assert waiting(api, session) == [("compact", "pending")]
