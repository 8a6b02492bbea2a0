"""Questions about usage, answered from the quarter-hour rollups: cost follows the range, not the history."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, F, QuerySet, Sum
from django.db.models.functions import Trunc

from analytics.filters import UsageFilter
from kernel.http.schemas import usd
from sessions.models import AgentSession, Summary, Turn, UsageBucket

TOTALS = (
    "calls",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "cost_nano",
    "unpriced_calls",
    "used_tokens",
    "over_budget_calls",
)
Row = dict[str, Any]


def totals(wanted: UsageFilter) -> Row:
    """Everything in one row; average usage and over-budget count included."""
    return _shown(wanted.buckets().aggregate(**{name: Sum(name) for name in TOTALS}))


def usage_over_time(wanted: UsageFilter, *, by: str, zone: str) -> list[Row]:
    """A row per hour or day of the given zone; a day without usage has no row."""
    periods: dict[datetime, Row] = {}
    # Folded here: the embedded database would call back into Python for every bucket instead.
    for row in _summed(wanted.buckets().values("quarter")).order_by("quarter"):
        period = _period(row["quarter"], by, ZoneInfo(zone))
        summed = periods.setdefault(period, dict.fromkeys(TOTALS, 0))
        for name in TOTALS:
            summed[name] += row[name]
    return [{"period": period.isoformat(), **_shown(row)} for period, row in periods.items()]


def _period(quarter: datetime, by: str, zone: ZoneInfo) -> datetime:
    local = quarter.astimezone(zone)
    hour = local.hour if by == "hour" else 0
    return local.replace(hour=hour, minute=0, second=0, microsecond=0)


def by_model(wanted: UsageFilter) -> list[Row]:
    rows = _summed(wanted.buckets().values("model")).order_by("-cost_nano", "model")
    return [
        {"model": row["model"], **_shown(row), "cache_read_ratio": _cache_read_ratio(row)} for row in rows
    ]


def by_section(wanted: UsageFilter) -> list[Row]:
    """Planned against actual, per section of the assembled contexts."""
    rows = (
        wanted.buckets(sections=True)
        .values("section")
        .annotate(
            contexts=Sum("calls"),
            planned=Sum("planned_tokens"),
            used=Sum("used_tokens"),
            over=Sum("over_budget_calls"),
        )
        .order_by("section")
    )
    return [
        {
            "section": row["section"],
            "contexts": row["contexts"],
            "planned_average": row["planned"] // row["contexts"],
            "used_average": row["used"] // row["contexts"],
            "over_plan_contexts": row["over"],
        }
        for row in rows
    ]


def over_budget(wanted: UsageFilter) -> list[Row]:
    """Average usage and turns strictly over their budget, per model and profile; no history is no row."""
    rows = _summed(wanted.buckets().values("model", "profile_id")).order_by("model", "profile_id")
    return [
        {
            "model": row["model"],
            "profile": row["profile_id"],
            "turns": row["calls"],
            "average_used": _average(row),
            "over_budget": row["over_budget_calls"],
        }
        for row in rows
    ]


def compaction_savings(wanted: UsageFilter) -> Row:
    """Tokens that later turns did not have to carry: the sum of before − after of every compaction."""
    rows = Summary.objects.filter(
        session__project_id=wanted.project_id, created_at__gte=wanted.since, created_at__lt=wanted.until
    )
    found = rows.aggregate(
        compactions=Count("id"),
        before=Sum("before_tokens"),
        after=Sum("after_tokens"),
    )
    before, after = found["before"] or 0, found["after"] or 0
    return {
        "compactions": found["compactions"],
        "before_tokens": before,
        "after_tokens": after,
        "saved_tokens": before - after,
        "formula": "saved = Σ(before − after), each measured by the session's own counter",
    }


def turn_rows(wanted: UsageFilter, *, session_id: str | None = None) -> QuerySet[Turn]:
    """The reported turns themselves, newest first."""
    rows = Turn.objects.filter(
        session__project_id=wanted.project_id, created_at__gte=wanted.since, created_at__lt=wanted.until
    )
    if wanted.model:
        rows = rows.filter(model=wanted.model)
    if session_id:
        rows = rows.filter(session_id=session_id)
    return rows.order_by("-id")


def turn_json(turn: Turn) -> Row:
    return {
        "session": turn.session_id,
        "turn": turn.number,
        "model": turn.model,
        **turn.usage,
        "used": turn.used_tokens,
        "budget": turn.total_tokens,
        "cost_usd": usd(turn.cost_nano),
        "at": turn.created_at.isoformat().replace("+00:00", "Z"),
    }


def daily_spend(project_id: str, *, since: datetime, zone: str) -> list[int]:
    """Nano-USD of each day with spend, oldest first: what a forecast rests on."""
    return [row["spent"] for row in daily_rows(project_id, since=since, zone=zone) if row["spent"]]


def daily_rows(project_id: str, *, since: datetime, zone: str) -> list[Row]:
    """A row per day with turns, the running day included; its turns without a price are in no sum."""
    rows = (
        UsageBucket.objects.filter(project_id=project_id, section="", quarter__gte=since)
        .annotate(day=Trunc("quarter", "day", tzinfo=ZoneInfo(zone)))
        .values("day")
        .annotate(spent=Sum("cost_nano"), turns=Sum("calls"), unpriced=Sum("unpriced_calls"))
        .order_by("day")
    )
    return [dict(row) for row in rows]


def session_count(project_id: str) -> int:
    return AgentSession.objects.of_project(project_id).count()


def _summed(rows: Any) -> Any:
    return rows.annotate(**{name: Sum(F(name)) for name in TOTALS})


def _shown(row: Row) -> Row:
    counts = {name: row[name] or 0 for name in TOTALS if name not in ("cost_nano", "used_tokens")}
    return {**counts, "cost_usd": usd(_cost_nano(row)), "average_used": _average(row)}


def _cost_nano(row: Row) -> int | None:
    """None where no call had a price: that is not 0."""
    if row["calls"] and row["unpriced_calls"] == row["calls"]:
        return None
    return row["cost_nano"] or 0


def _average(row: Row) -> int | None:
    return row["used_tokens"] // row["calls"] if row["calls"] else None


def _cache_read_ratio(row: Row) -> float | None:
    prompt = row["input_tokens"] + row["cache_read_tokens"] + row["cache_write_tokens"]
    return round(row["cache_read_tokens"] / prompt, 4) if prompt else None
