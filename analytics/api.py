"""GET /usage, /usage/summary and /analytics/…: JSON, CSV or NDJSON by Accept."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from django.http import HttpResponseBase
from ninja import Query, Router, Schema
from pydantic import Field

from analytics import queries
from analytics.exports import respond, respond_one
from analytics.filters import UsageFilter, usage_filter
from analytics.forecasts import forecast
from analytics.lasting import Lasting, lasting_caps
from kernel.clock import read_now
from kernel.http.replies import decode_number, page_of, reply_cached
from kernel.http.schemas import Cursor, Limit, Moment, usd
from sessions.services.store import find_session
from teams.auth import READERS, ApiRequest
from teams.models import Project

router = Router(tags=["Usage and analytics"])

Choice = Annotated[str | None, Field(max_length=200)]
FORECAST_DAYS = 14
EXPORT_FORMATS = ("text/csv", "application/x-ndjson")


class InRange(Schema):
    range: Annotated[str, Field(max_length=6)] = "7d"
    since: Moment | None = None
    until: Moment | None = None


class OfProfile(InRange):
    profile: Choice = None


class OfProfileAndModel(OfProfile):
    model: Choice = None


class OfSession(InRange):
    model: Choice = None
    session: Choice = None


class OverTime(OfProfileAndModel):
    by: Literal["hour", "day"] = "day"


@router.get("/usage", response=dict[str, Any])
def list_usage(
    request: ApiRequest, limit: Limit, cursor: Cursor, asked: Query[OfSession]
) -> HttpResponseBase:
    """Every reported turn, newest first; CSV and NDJSON stream all of them."""
    wanted = _wanted(request, asked)
    session_id = find_session(project_id=wanted.project_id, ref=asked.session).pk if asked.session else None
    rows = queries.turn_rows(wanted, session_id=session_id)
    if any(kind in request.headers.get("Accept", "") for kind in EXPORT_FORMATS):
        return respond(
            request, (queries.turn_json(row) for row in rows.iterator(chunk_size=500)), name="usage"
        )
    after = decode_number(cursor)
    if after is not None:
        rows = rows.filter(pk__lt=after)
    page = page_of(list(rows[: limit + 1]), limit=limit, key=lambda row: str(row.pk), shape=queries.turn_json)
    return reply_cached(request, page)


@router.get("/usage/summary", response=dict[str, Any])
def usage_summary(request: ApiRequest, asked: Query[OfProfileAndModel]) -> HttpResponseBase:
    """Totals of the range: tokens, cost, average usage and over-budget turns."""
    wanted = _wanted(request, asked)
    shown = {"since": _utc(wanted.since), "until": _utc(wanted.until), **queries.totals(wanted)}
    return respond_one(request, shown, name="usage-summary")


@router.get("/analytics/usage", response=dict[str, Any])
def analytics_usage(request: ApiRequest, asked: Query[OverTime]) -> HttpResponseBase:
    wanted = _wanted(request, asked)
    rows = queries.usage_over_time(wanted, by=asked.by, zone=_zone(request))
    return respond(request, rows, name="usage-over-time")


@router.get("/analytics/models", response=dict[str, Any])
def analytics_models(request: ApiRequest, asked: Query[OfProfile]) -> HttpResponseBase:
    wanted = _wanted(request, asked)
    return respond(request, queries.by_model(wanted), name="models")


@router.get("/analytics/sections", response=dict[str, Any])
def analytics_sections(request: ApiRequest, asked: Query[OfProfileAndModel]) -> HttpResponseBase:
    """Planned against actual, per section."""
    wanted = _wanted(request, asked)
    return respond(request, queries.by_section(wanted), name="sections")


@router.get("/analytics/over-budget", response=dict[str, Any])
def analytics_over_budget(request: ApiRequest, asked: Query[OfProfileAndModel]) -> HttpResponseBase:
    wanted = _wanted(request, asked)
    return respond(request, queries.over_budget(wanted), name="over-budget")


@router.get("/analytics/compaction", response=dict[str, Any])
def analytics_compaction(request: ApiRequest, asked: Query[InRange]) -> HttpResponseBase:
    """What compaction saved, with its formula."""
    wanted = _wanted(request, asked)
    return respond_one(request, queries.compaction_savings(wanted), name="compaction")


@router.get("/analytics/forecast", response=dict[str, Any])
def analytics_forecast(request: ApiRequest) -> HttpResponseBase:
    """The daily burn and its basis, or "not enough data", and when each cap of the project is spent by it."""
    request.auth.require(*READERS)
    now, project = read_now(), Project.objects.get(pk=request.auth.project_id)
    since = now - timedelta(days=FORECAST_DAYS)
    days = queries.daily_spend(project.pk, since=since, zone=project.time_zone)
    found = forecast(days, remaining_nano=None, now=now)
    shown = {
        "enough_data": found.enough_data,
        "daily_usd": usd(found.daily_nano),
        "basis": found.basis,
        "caps": [_lasting_json(row) for row in lasting_caps(project, days, now)],
    }
    return respond_one(request, shown, name="forecast")


def _lasting_json(row: Lasting) -> dict[str, Any]:
    return {
        "cap": row.cap.pk,
        "period": row.cap.period,
        "limit_usd": usd(row.window.limit_nano),
        "remaining_usd": usd(max(0, row.window.remaining_nano)),
        "resets_at": _utc(row.window.resets_at) if row.window.resets_at else None,
        "exhausted_at": _utc(row.ends) if row.ends else None,
    }


def _wanted(request: ApiRequest, asked: InRange) -> UsageFilter:
    request.auth.require(*READERS)
    return usage_filter(
        project_id=request.auth.project_id,
        range=asked.range,
        since=asked.since,
        until=asked.until,
        model=getattr(asked, "model", None),
        profile_id=getattr(asked, "profile", None),
    )


def _zone(request: ApiRequest) -> str:
    return Project.objects.values_list("time_zone", flat=True).get(pk=request.auth.project_id)


def _utc(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
