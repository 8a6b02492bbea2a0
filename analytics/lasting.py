"""Which caps of a project outlast their window at its daily spend: the pages and the API say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from analytics.forecasts import forecast
from budgets.models import Cap
from budgets.services.cap_windows import window_views
from budgets.services.caps import WindowView
from teams.models import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting:
    """`ends` is None where the money outlasts the window, and where there is nothing to judge by."""

    cap: Cap
    window: WindowView
    ends: datetime | None


def lasting_caps(project: Project, daily_nano: Sequence[int], now: datetime) -> list[Lasting]:
    caps = list(Cap.objects.of_project(project.pk).active().filter(scope="project").order_by("id"))
    windows = window_views(caps, {project.pk: project.time_zone})
    return [
        Lasting(cap=cap, window=windows[cap.pk], ends=_ends(windows[cap.pk], daily_nano, now)) for cap in caps
    ]


def _ends(window: WindowView, daily_nano: Sequence[int], now: datetime) -> datetime | None:
    ends = forecast(daily_nano, remaining_nano=window.remaining_nano, now=now).exhausted_at
    outlasts = ends is not None and window.resets_at is not None and ends >= window.resets_at
    return None if outlasts else ends
