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
from analytics.section_use import (
    heat_map,
    most_often_over,
    section_rows,
    section_uses,
    suggested_shares,
)
from budgets.models import Cap, Profile
from budgets.services.cap_windows import window_views
from budgets.services.in_use import users
from budgets.services.scopes import shown_scope_id
from kernel.clock import read_now
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
    """`rows` is the table, and what is exported; `chart` is what the browser draws from it."""

    title: str
    rows: list[Row]
    chart: Context | None = None
    more: Context | None = None


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
    chart = {
        "kind": "bar",
        "labels": [
            row["period"][:16].replace("T", " ") if by == "hour" else row["period"][:10] for row in rows
        ],
        "stacked": True,
        "unit": "tokens",
        "series": [
            {"label": "input", "colour": "c7", "values": [row["input_tokens"] for row in rows]},
            {"label": "cache read", "colour": "c3", "values": [row["cache_read_tokens"] for row in rows]},
            {"label": "cache write", "colour": "c4", "values": [row["cache_write_tokens"] for row in rows]},
            {"label": "output", "colour": "c5", "values": [row["output_tokens"] for row in rows]},
        ],
    }
    return Question(
        title=f"How much was used, {'hour by hour' if by == 'hour' else 'day by day'}?",
        rows=rows,
        chart=chart,
        more={"totals": queries.totals(wanted), "period_length": ":16" if by == "hour" else ":10"},
    )


def _models(wanted: UsageFilter, project: Project) -> Question:
    rows = queries.by_model(wanted)
    chart = {
        "kind": "bar",
        "horizontal": True,
        "stacked": True,
        "labels": [row["model"] for row in rows],
        "unit": "usd",
        "series": [
            {"label": "cost", "colour": "c7", "values": [float(row["cost_usd"]) for row in rows]},
        ],
    }
    return Question(title="Which models cost what, and how well are they cached?", rows=rows, chart=chart)


def _sections(wanted: UsageFilter, project: Project) -> Question:
    uses = section_uses(wanted)
    rows = section_rows(uses)
    planned = {str(row["section"]): int(row["planned_average"]) for row in rows}
    used = {str(row["section"]): int(row["used_average"]) for row in rows}
    chart = {
        "kind": "bar",
        "horizontal": True,
        "labels": [name.replace("_", " ") for name in planned],
        "unit": "tokens",
        "series": [
            {"label": "planned, average", "colour": "c14", "values": list(planned.values())},
            {"label": "actual, average", "colour": "c7", "values": list(used.values())},
        ],
    }
    more = {
        "heat_sections": list(planned),
        "heat": heat_map(uses),
        "suggestion": suggested_shares(planned, used) if wanted.profile_id else {},
    }
    return Question(title="Do sections hold what was planned for them?", rows=rows, chart=chart, more=more)


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
    chart = {
        "kind": "bar",
        "labels": [row["name"] for row in reversed(rows)],
        "unit": "tokens",
        "series": [
            {"label": "before", "colour": "c14", "values": [row["before_tokens"] for row in reversed(rows)]},
            {"label": "after", "colour": "c3", "values": [row["after_tokens"] for row in reversed(rows)]},
        ],
    }
    more = {"savings": queries.compaction_savings(wanted)}
    return Question(title="What did compaction save?", rows=rows, chart=chart, more=more)


def _forecast(wanted: UsageFilter, project: Project) -> Question:
    now = read_now()
    since = now - timedelta(days=FORECAST_DAYS)
    days = queries.daily_spend(project.pk, since=since, zone=project.time_zone)
    caps = list(Cap.objects.of_project(project.pk).active().filter(scope="project"))
    views = window_views(caps, {project.pk: project.time_zone})
    rows = []
    for cap in caps:
        window = views[cap.pk]
        found = forecast(days, remaining_nano=window.remaining_nano, now=now)
        lasts = found.exhausted_at is None or (window.resets_at and found.exhausted_at >= window.resets_at)
        rows.append(
            {
                "cap": f"{cap.scope} {shown_scope_id(cap.scope, cap.scope_id)}",
                "period": cap.period,
                "remaining_nano": window.remaining_nano,
                "resets_at": window.resets_at,
                "exhausted_at": None if lasts else found.exhausted_at,
                "enough_data": found.enough_data,
            }
        )
    plain = forecast(days, remaining_nano=None, now=now)
    chart = {
        "kind": "bar",
        "labels": [f"day {place}" for place in range(1, len(days) + 1)],
        "unit": "usd",
        "series": [{"label": "spend", "colour": "c5", "values": [nano / 10**9 for nano in days]}],
    }
    return Question(title="How long will the money last?", rows=rows, chart=chart, more={"forecast": plain})


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
