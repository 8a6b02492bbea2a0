"""GET /usage, /usage/summary and /analytics/…."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.exports import cell, csv_lines
from budgets.models import LedgerEntry
from kernel.clock import read_now
from tests.api.client import Api
from tests.conftest import Clock


@pytest.fixture
def session(api: Api) -> str:
    return str(api.post("/sessions", {"model": "gpt-4", "external_id": "s1"}).json()["id"])


def report(api: Api, session: str, *prompts: int) -> None:
    events = [
        {"type": "usage", "usage": {"input_tokens": prompt, "output_tokens": 100}} for prompt in prompts
    ]
    assert api.post(f"/sessions/{session}/events", {"events": events}).status_code == 201


@pytest.mark.django_db
def test_turns_ledger_rollups_and_the_session_say_the_same(api: Api, session: str) -> None:
    report(api, session, 1000, 2000, 7000)
    summary = api.get("/usage/summary").json()
    turns = api.get("/usage").json()["items"]
    ledger = sum(row.cost_nano or 0 for row in LedgerEntry.objects.all())
    # gpt-4: 30 and 60 dollars a million tokens
    assert summary["cost_usd"] == api.get(f"/sessions/{session}").json()["spent_usd"] == "0.318"
    assert ledger == 318_000_000
    assert (summary["calls"], len(turns), summary["input_tokens"]) == (3, 3, 10_000)
    assert summary["average_used"] == 3333
    assert summary["over_budget_calls"] == 1


@pytest.mark.django_db
def test_no_history_has_no_average(api: Api) -> None:
    assert api.get("/usage/summary").json()["average_used"] is None
    assert api.get("/analytics/forecast").json()["basis"].startswith("not enough data")


@pytest.mark.django_db
def test_the_forecast_says_when_a_cap_is_spent(api: Api, session: str, manage_key: str, clock: Clock) -> None:
    """0.036 dollars on each of three days leave 1.792 of 1.9: almost fifty days at that pace."""
    for period in ("total", "hour"):
        api.post("/caps", {"scope": "project", "limit_usd": "2", "period": period}, key=manage_key)
    for _ in range(3):
        report(api, session, 1000)
        clock.advance(days=1)
    shown = api.get("/analytics/forecast").json()
    total, hourly = shown["caps"]
    assert (shown["enough_data"], shown["basis"]) == (True, "mean of 3 days with spend")
    assert (total["remaining_usd"], hourly["exhausted_at"]) == ("1.792", None)
    assert (datetime.fromisoformat(total["exhausted_at"]) - read_now()).days == 49


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/usage/summary", "/analytics/compaction", "/analytics/forecast"])
def test_totals_come_as_a_line_of_csv_or_ndjson_too(api: Api, session: str, path: str) -> None:
    report(api, session, 1000)
    shown = api.get(path).json()
    written = api.get(path, headers={"Accept": "application/x-ndjson"})
    assert written["Content-Type"] == "application/x-ndjson"
    assert json.loads(written.getvalue()) == shown
    table = api.get(path, headers={"Accept": "text/csv"})
    assert table["Content-Type"].startswith("text/csv")
    (line,) = csv.DictReader(io.StringIO(table.getvalue().decode()))
    assert line.keys() == shown.keys()


@pytest.mark.django_db
def test_usage_is_paged_newest_first(api: Api, session: str) -> None:
    report(api, session, 100, 200, 300)
    first = api.get("/usage?limit=2").json()
    second = api.get(f"/usage?limit=2&cursor={first['next']}").json()
    assert [row["input_tokens"] for row in first["items"] + second["items"]] == [300, 200, 100]
    assert second["next"] is None


@pytest.mark.django_db
def test_usage_comes_as_csv_and_ndjson(api: Api, session: str) -> None:
    report(api, session, 100, 200)
    answer: Any = api.get("/usage", headers={"Accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [row["input_tokens"] for row in rows] == ["200", "100"]
    answer = api.get("/usage", headers={"Accept": "application/x-ndjson"})
    lines = b"".join(answer.streaming_content).decode().splitlines()
    assert [json.loads(line)["input_tokens"] for line in lines] == [200, 100]


@pytest.mark.django_db
def test_each_analysis_answers(api: Api, session: str) -> None:
    report(api, session, 1000)
    api.post(f"/sessions/{session}/context", {})
    models = api.get("/analytics/models").json()["items"]
    assert [(row["model"], row["calls"]) for row in models] == [("gpt-4", 1)]
    sections = {row["section"] for row in api.get("/analytics/sections").json()["items"]}
    assert "recent_messages" in sections
    assert api.get("/analytics/over-budget").json()["items"][0]["average_used"] == 1000
    assert api.get("/analytics/compaction").json()["compactions"] == 0
    assert len(api.get("/analytics/usage?by=hour&range=24h").json()["items"]) == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query", ["range=7y", "since=2026-01-01T00:00:00", "since=0001-01-01T00:00:00Z", "cursor=%00", "limit=0"]
)
def test_it_refuses_bad_filters(api: Api, query: str) -> None:
    assert api.get(f"/usage?{query}").status_code == 422


@pytest.mark.django_db
def test_it_never_counts_another_tenants_usage(api: Api, session: str, other_key: str) -> None:
    report(api, session, 1000)
    assert api.get("/usage/summary", key=other_key).json()["calls"] == 0
    assert api.get(f"/usage?session={session}", key=other_key).status_code == 404


@given(st.text())
def test_no_text_cell_can_be_a_formula(text: str) -> None:
    assert not cell(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    rows = list(csv.reader(io.StringIO("".join(csv_lines([{"name": text.replace("\0", "")}])), newline="")))
    assert len(rows) == 2 or text == ""
