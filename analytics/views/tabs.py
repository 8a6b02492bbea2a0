"""The analytics pages: each tab one question, a chart, the same as a table, and the table as CSV or JSONL."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render

from analytics import queries
from analytics.exports import csv_lines
from analytics.filters import UsageFilter, usage_filter
from analytics.forecasts import forecast
from analytics.lasting import lasting_caps
from analytics.section_use import (
    heat_map,
    most_often_over,
    section_rows,
    section_uses,
    suggested_shares,
)
from analytics.views.charts import Chart, bars, dollars, one, priced_and_not
from budgets.models import Profile
from budgets.services.in_use import users
from kernel.clock import read_now
from kernel.http.schemas import usd
from sessions.models import Summary
from teams.models import Project
from teams.pages import PageRequest, page

RANGES = ("24h", "7d", "4w", "13w")
FORECAST_DAYS = 14
MAX_COMPACTIONS = 100
Row = dict[str, Any]
Context = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`rows` is the table, and what is exported; `charts` are what the browser draws from it."""

    title: str
    rows: list[Row]
    charts: tuple[Chart | None, ...] = ()
    more: Context | None = None

    @property
    def drawn(self) -> list[Chart]:
        return [chart for chart in self.charts if chart is not None]


@page
def analytics(request: PageRequest) -> HttpResponseBase:
    request.visitor.require("analyse")
    tab = request.GET.get("tab", "usage")
    tab = tab if tab in TABS else "usage"
    wanted = _wanted(request)
    found = TABS[tab](wanted, request.visitor.project)
    if request.GET.get("format") in ("csv", "jsonl"):
        return _export(found.rows, tab, request.GET["format"])
    context = {
        "tab": tab,
        "tabs": TITLES,
        "question": found,
        "range": request.GET.get("range", "7d"),
        "ranges": RANGES,
        "model": wanted.model or "",
        "profile": wanted.profile_id or "",
        "models": users().models(wanted.project_id),
        "profiles": Profile.objects.of_project(wanted.project_id).order_by("name"),
        **(found.more or {}),
    }
    return render(request, "analytics/analytics.html", context)


def _wanted(request: PageRequest) -> UsageFilter:
    given = request.GET.get("range", "7d")
    return usage_filter(
        project_id=request.visitor.project.pk,
        range=given if given in RANGES else "7d",
        model=request.GET.get("model", "").replace("\x00", "") or None,
        profile_id=request.GET.get("profile", "").replace("\x00", "") or None,
    )


def _export(rows: list[Row], tab: str, format: str) -> HttpResponse | StreamingHttpResponse:
    """Streamed line by line; a cell that looks like a formula is made text."""
    lines = csv_lines(rows) if format == "csv" else (json.dumps(row, default=str) + "\n" for row in rows)
    kind = "text/csv" if format == "csv" else "application/x-ndjson"
    encoded = (line.encode("utf-8", "replace") for line in lines)
    response = StreamingHttpResponse(encoded, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="ctxbudget-{tab}.{format}"'
    return response


def _usage(wanted: UsageFilter, project: Project) -> Question:
    by = "hour" if wanted.until - wanted.since <= timedelta(days=2) else "day"
    rows = queries.usage_over_time(wanted, by=by, zone=project.time_zone)
    length = 16 if by == "hour" else 10
    labels = [row["period"][:length].replace("T", " ") for row in rows]
    parts = {"input": "c7", "cache_read": "c3", "cache_write": "c4", "output": "c5"}
    series = [
        one(name.replace("_", " "), colour, [row[f"{name}_tokens"] for row in rows])
        for name, colour in parts.items()
    ]
    return Question(
        title=f"How much was used, {'hour by hour' if by == 'hour' else 'day by day'}?",
        rows=rows,
        charts=(bars("Tokens", labels, series, unit="tokens", stacked=True), priced_and_not(labels, rows)),
        more={"totals": queries.totals(wanted), "period_length": f":{length}"},
    )


def _models(wanted: UsageFilter, project: Project) -> Question:
    rows = queries.by_model(wanted)
    names = [row["model"] for row in rows]
    labels = [
        name if row["cost_usd"] else f"{name} — no price" for name, row in zip(names, rows, strict=True)
    ]
    cost = one("cost", "c7", [dollars(row["cost_usd"]) for row in rows])
    charts = (
        bars("Cost", labels, [cost], unit="usd", horizontal=True),
        priced_and_not(names, rows, horizontal=True),
    )
    return Question(title="Which models cost what, and how well are they cached?", rows=rows, charts=charts)


def _sections(wanted: UsageFilter, project: Project) -> Question:
    uses = section_uses(wanted)
    rows = section_rows(uses)
    planned = {str(row["section"]): int(row["planned_average"]) for row in rows}
    used = {str(row["section"]): int(row["used_average"]) for row in rows}
    series = [
        one("planned, average", "c14", list(planned.values())),
        one("actual, average", "c7", list(used.values())),
    ]
    labels = [name.replace("_", " ") for name in planned]
    more = {
        "heat_sections": list(planned),
        "heat": heat_map(uses),
        "suggestion": suggested_shares(planned, used) if wanted.profile_id else {},
    }
    return Question(
        title="Do sections hold what was planned for them?",
        rows=rows,
        charts=(bars("Tokens", labels, series, unit="tokens", horizontal=True),),
        more=more,
    )


def _over_budget(wanted: UsageFilter, project: Project) -> Question:
    names = dict(Profile.objects.of_project(project.pk).values_list("pk", "name"))
    rows = [
        {**row, "profile": names.get(row["profile"], row["profile"])} for row in queries.over_budget(wanted)
    ]
    first = most_often_over(queries.by_section(wanted))
    return Question(title="Where do turns go over their budget?", rows=rows, more={"first_cause": first})


def _compaction(wanted: UsageFilter, project: Project) -> Question:
    found = Summary.objects.filter(
        session__project_id=project.pk, created_at__gte=wanted.since, created_at__lt=wanted.until
    )
    newest = found.select_related("session").order_by("-created_at")[:MAX_COMPACTIONS]
    rows = [
        {
            "at": row.created_at.isoformat().replace("+00:00", "Z"),
            "session": row.session_id,
            "name": str(row.session),
            "messages": f"{row.from_seq}–{row.to_seq}",
            "before_tokens": row.before_tokens,
            "after_tokens": row.after_tokens,
            "saved_tokens": row.before_tokens - row.after_tokens,
            "by": row.source,
        }
        for row in newest
    ]
    oldest_first = rows[::-1]
    series = [
        one("before", "c14", [row["before_tokens"] for row in oldest_first]),
        one("after", "c3", [row["after_tokens"] for row in oldest_first]),
    ]
    return Question(
        title="What did compaction save?",
        rows=rows,
        charts=(bars("Tokens", [row["name"] for row in oldest_first], series, unit="tokens"),),
        more={"savings": queries.compaction_savings(wanted)},
    )


def _forecast(wanted: UsageFilter, project: Project) -> Question:
    """The days that the forecast rests on, and what they mean for each cap of the project."""
    now = read_now()
    since = now - timedelta(days=FORECAST_DAYS)
    days = queries.daily_rows(project.pk, since=since, zone=project.time_zone)
    spent = [row["spent"] for row in days if row["spent"]]
    rows = [_day(row) for row in days]
    cost = one("spend", "c5", [dollars(row["cost_usd"]) for row in rows])
    labels = [row["day"] for row in rows]
    more = {
        "forecast": forecast(spent, remaining_nano=None, now=now),
        "lasting": lasting_caps(project, spent, now),
    }
    charts = (bars("Spend a day", labels, [cost], unit="usd"), priced_and_not(labels, rows))
    return Question(title="How long will the money last?", rows=rows, charts=charts, more=more)


def _day(row: Row) -> Row:
    is_unpriced = row["unpriced"] == row["turns"]
    return {
        "day": f"{row['day']:%Y-%m-%d}",
        "calls": row["turns"],
        "cost_usd": None if is_unpriced else usd(row["spent"]),
        "unpriced_calls": row["unpriced"],
    }


TABS: dict[str, Callable[[UsageFilter, Project], Question]] = {
    "usage": _usage,
    "models": _models,
    "sections": _sections,
    "over-budget": _over_budget,
    "compaction": _compaction,
    "forecast": _forecast,
}
TITLES = {
    "usage": "Usage",
    "models": "By model",
    "sections": "Planned and actual",
    "over-budget": "Over budget",
    "compaction": "Compaction savings",
    "forecast": "Forecast",
}
