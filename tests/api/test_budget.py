"""GET /sessions/{id}/budget."""

from __future__ import annotations

import pytest

from tests.api.client import Api
from tests.conftest import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(api: Api) -> str:
    return f"/sessions/{api.post('/sessions', {'model': 'gpt-4', 'goal': 'ship it'}).json()['id']}"


def test_its_parts_add_up_and_both_percentages_are_there(api: Api, session: str) -> None:
    event = {"type": "message", "message": {"role": "user", "content": "hello " * 50}}
    api.post(f"{session}/events", {"events": [event]})
    budget = api.get(f"{session}/budget").json()
    assert budget["used"] == sum(budget["parts"].values()) == sum(s["used"] for s in budget["sections"])
    assert budget["source"] == "counted"
    assert 0 < budget["window_ratio"] < budget["usage_ratio"] < 1
    goal = next(row for row in budget["sections"] if row["name"] == "goal")
    assert goal["available"] == goal["planned"] - goal["used"] > 0


def test_it_is_not_sent_again_while_it_is_the_same(api: Api, session: str) -> None:
    first = api.get(f"{session}/budget")
    assert api.get(f"{session}/budget", headers={"If-None-Match": first.headers["ETag"]}).status_code == 304
    api.post(f"{session}/events", {"events": [{"type": "usage", "usage": {"input_tokens": 9}}]})
    assert api.get(f"{session}/budget", headers={"If-None-Match": first.headers["ETag"]}).status_code == 200


def test_it_names_the_caps_and_what_is_left_under_them(
    api: Api, session: str, manage_key: str, clock: Clock
) -> None:
    api.post("/caps", {"scope": "project", "limit_usd": "1", "period": "month"}, key=manage_key)
    usage = {"type": "usage", "usage": {"input_tokens": 1000, "output_tokens": 0}}
    api.post(f"{session}/events", {"events": [usage]})
    (cap,) = api.get(f"{session}/budget").json()["caps"]
    assert (cap["scope"], cap["limit_usd"], cap["spent_usd"]) == ("project", "1", "0.03")
    assert (cap["turns_left"], cap["basis"]) == (None, "not enough data")
    clock.advance(minutes=3)
    api.post(f"{session}/events", {"events": [usage, usage]})
    (cap,) = api.get(f"{session}/budget").json()["caps"]
    # 0.95 dollars before the wrap-up reserve, 0.09 spent, 0.03 a turn and a minute
    assert 28 * 60 <= cap["seconds_left"] <= 30 * 60
    assert (cap["turns_left"], cap["basis"]) == (28, "average of 3 turns")


def test_it_says_what_compacting_costs_and_saves(api: Api, session: str) -> None:
    api.post(f"{session}/events", {"events": [{"type": "usage", "usage": {"input_tokens": 6000}}]})
    payback = api.get(f"{session}/budget").json()["payback"]
    assert float(payback["saves_per_turn_usd"]) > 0
    assert payback["turns"] is not None


def test_another_tenants_budget_is_not_there(api: Api, session: str, other_key: str) -> None:
    assert api.get(f"{session}/budget", key=other_key).status_code == 404
