"""One row per project for the overview, in a fixed number of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Count, Sum

from analytics.forecasts import Forecast, forecast
from budgets.models import Cap
from budgets.services.cap_windows import window_views
from budgets.services.caps import WindowView
from budgets.services.models import remember_cards
from kernel.clock import read_now
from sessions.models import AgentSession, Summary, UsageBucket
from sessions.services.frames import frame_of
from teams.models import Project

DAYS = 7
FORECAST_DAYS = 14
SPARK_WIDTH, SPARK_HEIGHT = 120, 24
MAX_LOOKED_AT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Fullest:
    session: AgentSession
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    project: Project
    active: int
    paused: int
    profile: str
    fullest: Fullest | None
    cap: Cap | None
    window: WindowView | None
    forecast: Forecast
    spent_week_nano: int
    compactions: int
    saved_tokens: int
    spark: str


def standings(projects: Sequence[Project]) -> list[Standing]:
    ids = [project.pk for project in projects]
    states = _states(ids)
    days = _daily_spend(projects)
    saved = _saved(ids)
    fullest, profiles = _fullest(projects)
    caps = _main_caps(ids)
    views = window_views(list(caps.values()), {project.pk: project.time_zone for project in projects})
    now = read_now()
    rows = []
    for project in projects:
        cap = caps.get(project.pk)
        window = views[cap.pk] if cap else None
        spent = days[project.pk]
        compactions, tokens = saved.get(project.pk, (0, 0))
        rows.append(
            Standing(
                project=project,
                active=states.get((project.pk, "active"), 0),
                paused=states.get((project.pk, "paused"), 0),
                profile=profiles.get(project.pk, ""),
                fullest=fullest.get(project.pk),
                cap=cap,
                window=window,
                forecast=forecast(
                    [nano for nano in spent.values() if nano],
                    remaining_nano=window.remaining_nano if window else None,
                    now=now,
                ),
                spent_week_nano=sum(_last_days(spent, project, now)),
                compactions=compactions,
                saved_tokens=tokens,
                spark=spark_points(_last_days(spent, project, now)),
            )
        )
    return rows


def _states(ids: Sequence[str]) -> dict[tuple[str, str], int]:
    rows = AgentSession.objects.filter(project_id__in=ids, state__in=("active", "paused"))
    counted = rows.values_list("project_id", "state").annotate(number=Count("pk"))
    return {(project_id, state): number for project_id, state, number in counted}


def _daily_spend(projects: Sequence[Project]) -> dict[str, dict[date, int]]:
    """Nano-USD by project and day of the project's own zone."""
    zones = {project.pk: ZoneInfo(project.time_zone) for project in projects}
    since = read_now() - timedelta(days=FORECAST_DAYS)
    rows = UsageBucket.objects.filter(project_id__in=list(zones), section="", quarter__gte=since)
    spent: dict[str, dict[date, int]] = {project.pk: defaultdict(int) for project in projects}
    summed = rows.values_list("project_id", "quarter").annotate(nano=Sum("cost_nano"))
    for project_id, quarter, nano in summed:
        spent[project_id][quarter.astimezone(zones[project_id]).date()] += nano
    return spent


def _last_days(spent: dict[date, int], project: Project, now: datetime) -> list[int]:
    today = now.astimezone(ZoneInfo(project.time_zone)).date()
    return [spent.get(today - timedelta(days=back), 0) for back in range(DAYS - 1, -1, -1)]


def _saved(ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    since = read_now() - timedelta(days=DAYS)
    rows = Summary.objects.filter(session__project_id__in=ids, created_at__gte=since)
    summed = rows.values_list("session__project_id").annotate(
        number=Count("pk"), before=Sum("before_tokens"), after=Sum("after_tokens")
    )
    return {project_id: (number, before - after) for project_id, number, before, after in summed}


def _fullest(projects: Sequence[Project]) -> tuple[dict[str, Fullest], dict[str, str]]:
    """Among the sessions that were active last; also which profile and revision they follow mostly."""
    rows = AgentSession.objects.filter(project_id__in=[p.pk for p in projects], state="active")
    related = rows.select_related("profile", "profile__current", "pinned_revision")
    sessions = list(related.order_by("-last_activity_at")[:MAX_LOOKED_AT])
    for project in projects[:10]:
        names = [session.model for session in sessions if session.project_id == project.pk]
        if names:
            remember_cards(project_id=project.pk, names=names)
    fullest: dict[str, Fullest] = {}
    profiles: dict[str, str] = {}
    for session in sessions:
        frame = frame_of(session)
        profiles.setdefault(session.project_id, f"{session.profile.name} r{frame.revision.number}")
        best = fullest.get(session.project_id)
        if best is None or session.used_tokens * best.total > best.session.used_tokens * frame.total:
            fullest[session.project_id] = Fullest(session=session, total=frame.total)
    return fullest, profiles


def _main_caps(ids: Sequence[str]) -> dict[str, Cap]:
    """The widest cap on a project as a whole: its largest limit, the month before shorter periods."""
    order = {"month": 0, "total": 1, "week": 2, "day": 3, "hour": 4}
    rows = Cap.objects.filter(project_id__in=ids, scope="project", active=True)
    caps: dict[str, Cap] = {}
    for cap in sorted(rows, key=lambda cap: (order[cap.period], -cap.limit_nano)):
        caps.setdefault(cap.project_id, cap)
    return caps


def spark_points(values: Sequence[int]) -> str:
    most = max(values, default=0) or 1
    step = SPARK_WIDTH // max(1, len(values) - 1)
    room = SPARK_HEIGHT - 4
    return " ".join(f"{place * step},{2 + room - value * room // most}" for place, value in enumerate(values))
