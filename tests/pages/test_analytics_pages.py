"""Analytics in the browser: every chart has a table, every table an export, and cells are never formulas."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from django.test import Client

from ctxbudget_site.demo.playing import Stage
from tests.pages.routes import ANALYTICS_TABS
from tests.pages.world import Tenant, part


def export(client: Client, query: str) -> str:
    return b"".join(client.get(query).streaming_content).decode()


@pytest.mark.parametrize("tab", ["usage", "models", "sections", "over-budget", "forecast"])
def test_every_table_can_be_taken_away(acme: Tenant, browser: Client, tab: str) -> None:
    rows = list(csv.DictReader(io.StringIO(export(browser, f"/analytics?tab={tab}&format=csv"))))
    lines = export(browser, f"/analytics?tab={tab}&format=jsonl").splitlines()
    assert len(rows) == len(lines)
    assert set(rows[0]) == set(json.loads(lines[0]))


@pytest.mark.parametrize("tab", ANALYTICS_TABS)
def test_a_chart_always_has_its_table(acme: Tenant, browser: Client, tab: str) -> None:
    """A bar per row of the table: neither shows what the other does not."""
    html = browser.get(f"/analytics?tab={tab}").content.decode()
    rows = len(export(browser, f"/analytics?tab={tab}&format=jsonl").splitlines())
    for chart in charts(html):
        assert "The same as a table" in html
        assert {len(chart["labels"])} | {len(one["values"]) for one in chart["series"]} == {rows}


def charts(html: str) -> list[dict[str, Any]]:
    found = re.findall(r'<script id="chart-\d" type="application/json">(.*?)</script>', html)
    return [json.loads(text) for text in found]


def test_usage_without_a_price_is_hatched_and_never_free(acme: Tenant, browser: Client) -> None:
    Stage(project_id=acme.project.pk, key_id=acme.key.pk).play(part("in-house", model="acme/own-8b"))
    html = browser.get("/analytics?tab=models").content.decode()
    cost, turns = charts(html)
    place = cost["labels"].index("acme/own-8b — no price")
    assert cost["series"][0]["values"][place] is None
    unpriced = turns["series"][1]
    assert (unpriced["hatched"], unpriced["values"][place]) == (True, 3)
    assert ">$0.00<" not in html
    lines = export(browser, "/analytics?tab=models&format=jsonl").splitlines()
    assert [json.loads(line)["cost_usd"] for line in lines][place] is None


def test_the_forecast_shows_the_days_it_rests_on(acme: Tenant, browser: Client) -> None:
    html = browser.get("/analytics?tab=forecast").content.decode()
    day = charts(html)[0]["labels"][0]
    assert f'<a href="/sessions?q=day:{day}">{day}</a>' in html
    assert acme.session.pk in browser.get(f"/sessions?q=day:{day}").content.decode()
    assert "Nothing matches" in browser.get("/sessions?q=day:2020-01-01").content.decode()
    assert "needs a day like" in browser.get("/sessions?q=day:9999-99-99").content.decode()
    assert browser.get("/sessions?q=day:9999-12-31").status_code == 200
    assert "Not enough data: 1 of 3 days with spend" in html
    assert "The project has no cap of its own." in html


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", '=HYPERLINK("x")'])
def test_a_cell_of_the_session_list_is_never_a_formula(acme: Tenant, browser: Client, text: str) -> None:
    stage = Stage(project_id=acme.project.pk, key_id=acme.key.pk)
    hostile = part("plain")
    stage.open(type(hostile)(**{**_fields(hostile), "task": text}))
    rows = list(csv.DictReader(io.StringIO(export(browser, "/sessions?format=csv"))))
    tasks = [row["task"] for row in rows if row["external_id"] == "plain"]
    assert tasks == [f"'{text}"]


def _fields(row: object) -> dict[str, object]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}  # type: ignore[attr-defined]


def test_attention_comes_first_and_names_what_stands_still(acme: Tenant, browser: Client) -> None:
    html = browser.get("/").content.decode()
    assert "1 question about money waits" in html
    assert "No worker answers" in html
    assert html.index("question about money") < html.index("Projects</h2>")
