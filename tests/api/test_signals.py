"""GET /sessions/{id}/signals."""

from __future__ import annotations

import threading
import time

import pytest

from tests.api.client import Api, LiveApi
from tests.session_calls import opened, record, usage

pytestmark = pytest.mark.django_db


def test_they_come_in_order_with_their_numbers(api: Api) -> None:
    session = opened(api)
    record(api, session, usage(5_400))
    record(api, session, usage(6_100))
    body = api.get(f"{session}/signals").json()
    assert [row["number"] for row in body["items"]] == list(range(1, len(body["items"]) + 1))
    assert [row["kind"] for row in body["items"]] == ["BUDGET_WARNING", "BUDGET_CRITICAL", "COMPACT_DUE"]
    assert body["items"][0]["payload"] == {"level": "warning", "used": 5400, "limit": 5243}


def test_after_continues(api: Api) -> None:
    session = opened(api)
    record(api, session, usage(6_100))
    first = api.get(f"{session}/signals?limit=1").json()
    second = api.get(f"{session}/signals?after={first['next']}").json()
    assert [row["number"] for row in first["items"]] == [1]
    assert [row["number"] for row in second["items"]] == [2, 3]
    assert api.get(f"{session}/signals?after={second['next']}").json()["items"] == []


@pytest.mark.parametrize("query", ["after=-1", "after=x", "wait=26", "wait=-1", "limit=0"])
def test_it_refuses_bad_numbers(api: Api, query: str) -> None:
    assert api.get(f"{opened(api)}/signals?{query}").status_code == 422


def test_another_tenants_signals_are_not_there(api: Api, other_key: str) -> None:
    assert api.get(f"{opened(api)}/signals", key=other_key).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_long_poll_ends_when_something_happens(live_api: LiveApi) -> None:
    session = opened(live_api)
    reporter = LiveApi(url=live_api.url, key=live_api.key)
    timer = threading.Timer(0.5, lambda: record(reporter, session, usage(5_400)))
    timer.start()
    started = time.monotonic()
    body = live_api.get(f"{session}/signals?wait=20").json()
    assert [row["kind"] for row in body["items"]] == ["BUDGET_WARNING"]
    assert 0.3 < time.monotonic() - started < 10
    timer.join()


@pytest.mark.django_db(transaction=True)
def test_a_long_poll_ends_when_its_time_is_over(live_api: LiveApi) -> None:
    session = opened(live_api)
    started = time.monotonic()
    assert live_api.get(f"{session}/signals?wait=1").json()["items"] == []
    assert 0.9 <= time.monotonic() - started < 5
