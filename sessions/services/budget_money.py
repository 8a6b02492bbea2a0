"""The money side of a session's budget: the caps that bind it, and what compacting costs and saves."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q

from budgets.models import Cap
from budgets.services.cap_windows import window_views
from budgets.services.scopes import Spender
from kernel.http.schemas import usd
from sessions.models import AgentSession
from sessions.services.compaction_requests import expected_payback
from sessions.services.frames import Frame
from teams.models import Project

# Fewer turns than this tell nothing about the next one.
MINIMUM_TURNS = 3


def payback_view(session: AgentSession, frame: Frame) -> dict[str, Any] | None:
    """What compacting now would cost and save; None for a model without a price."""
    found = expected_payback(session, frame)
    if found is None:
        return None
    return {
        "cost_usd": usd(found.cost_nano),
        "saves_per_turn_usd": usd(found.saves_per_turn_nano),
        "turns": found.turns,
    }


def caps_view(session: AgentSession, frame: Frame) -> list[dict[str, Any]]:
    """Every cap that binds this session, with what is left at its own burn, or why that is not known."""
    project = Project.objects.only("team_id", "time_zone").get(pk=session.project_id)
    found = _caps_over(session, project, frame.model.canonical_name)
    views = window_views(found, {cap.project_id: project.time_zone for cap in found})
    return [
        {
            "id": cap.pk,
            "scope": cap.scope,
            "period": cap.period,
            "limit_usd": usd(views[cap.pk].limit_nano),
            "spent_usd": usd(views[cap.pk].settled_nano),
            "reserved_usd": usd(views[cap.pk].reserved_nano),
            "remaining_usd": usd(max(0, views[cap.pk].remaining_nano)),
            "resets_at": _utc(views[cap.pk].resets_at),
            **_left(session, max(0, views[cap.pk].remaining_nano)),
        }
        for cap in found
    ]


def _left(session: AgentSession, remaining_nano: int) -> dict[str, Any]:
    """Turns and seconds at the session's average so far, from its opening to its last report."""
    if session.turns < MINIMUM_TURNS or not session.spent_nano:
        return {"turns_left": None, "seconds_left": None, "basis": "not enough data"}
    lived_s = int((session.last_activity_at - session.created_at).total_seconds())
    return {
        "turns_left": remaining_nano * session.turns // session.spent_nano,
        "seconds_left": remaining_nano * lived_s // session.spent_nano if lived_s else None,
        "basis": f"average of {session.turns} turns",
    }


def _caps_over(session: AgentSession, project: Project, model: str) -> list[Cap]:
    spender = Spender(
        team_id=project.team_id,
        project_id=session.project_id,
        session_id=session.pk,
        key_id=session.key_id,
        model=model,
    )
    scopes = reduce(or_, (Q(scope=scope, scope_id=scope_id) for scope, scope_id in spender.scopes))
    return list(Cap.objects.active().filter(scopes).order_by("id"))


def _utc(moment: Any) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None
