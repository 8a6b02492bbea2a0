"""What part of a project's usage is looked at: a range of time, and optionally a model or a profile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet

from kernel.clock import read_now
from kernel.errors import FieldProblem, Invalid
from sessions.models import UsageBucket
from sessions.services.rollups import quarter_of

_RANGE = re.compile(r"([1-9]\d{0,3})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
QUARTER = timedelta(minutes=15)
LONGEST = timedelta(days=3 * 366)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFilter:
    project_id: str
    since: datetime
    until: datetime
    model: str | None = None
    profile_id: str | None = None

    def buckets(self, *, sections: bool = False) -> QuerySet[UsageBucket]:
        rows = UsageBucket.objects.filter(
            project_id=self.project_id, quarter__gte=self.since, quarter__lt=self.until
        )
        rows = rows.exclude(section="") if sections else rows.filter(section="")
        if self.model:
            rows = rows.filter(model=self.model)
        if self.profile_id:
            rows = rows.filter(profile_id=self.profile_id)
        return rows


def usage_filter(
    *,
    project_id: str,
    range: str = "7d",
    since: datetime | None = None,
    until: datetime | None = None,
    model: str | None = None,
    profile_id: str | None = None,
) -> UsageFilter:
    """`range` counts back from `until`; `since` wins over it. Left out, `until` is the end of this quarter
    hour: the rollups' own step, so that pollers meet the same range and can be answered 304."""
    until = _aware(until, "/until") or quarter_of(read_now()) + QUARTER
    since = _aware(since, "/since") or until - _length(range)
    if not timedelta(0) < until - since <= LONGEST:
        raise _invalid("/since", "must lie before until, at most three years")
    return UsageFilter(
        project_id=project_id, since=since, until=until, model=model or None, profile_id=profile_id or None
    )


def _length(text: str) -> timedelta:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise _invalid("/range", "must be a number and h, d or w, for example 24h or 7d")
    return int(found[1]) * _UNITS[found[2]]


def _aware(moment: datetime | None, pointer: str) -> datetime | None:
    if moment is None:
        return None
    if moment.tzinfo is None or not 2000 <= moment.year <= 2200:
        raise _invalid(pointer, "must be a time with a zone, between 2000 and 2200")
    return moment.astimezone(UTC)


def _invalid(pointer: str, detail: str) -> Invalid:
    return Invalid(f"{pointer} {detail}.", errors=(FieldProblem(pointer=pointer, detail=detail),))
