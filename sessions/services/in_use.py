"""Answers the room below: which models and profiles sessions use, and what their sections really hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.db.models import Count, Q, Sum

from budgets.models import Scope
from budgets.services.in_use import register_users
from budgets.services.scopes import shown_scope_id
from kernel.clock import read_now
from sessions.models import AgentSession, Turn, UsageBucket

LATELY = timedelta(days=30)
REPLAYED = timedelta(days=7)
MAX_REPLAYED = 5_000
MAX_MODELS = 40
RUNNING = (AgentSession.State.ACTIVE, AgentSession.State.PAUSED, AgentSession.State.WRAPPING_UP)


class SessionUsers:
    def models(self, project_id: str) -> list[str]:
        rows = AgentSession.objects.of_project(project_id).filter(last_activity_at__gte=read_now() - LATELY)
        counted = rows.values_list("model").annotate(number=Count("pk")).order_by("-number", "model")
        return [model for model, _ in counted[:MAX_MODELS]]

    def sessions_by_profile(self, project_id: str) -> Mapping[str, int]:
        rows = AgentSession.objects.of_project(project_id).filter(state__in=RUNNING, pinned_revision=None)
        return dict(rows.values_list("profile_id").annotate(number=Count("pk")))

    def section_needs(self, project_id: str, profile_id: str) -> Mapping[tuple[str, str], int]:
        rows = UsageBucket.objects.filter(
            project_id=project_id, profile_id=profile_id, quarter__gte=read_now() - LATELY
        ).exclude(section="")
        summed = rows.values_list("model", "section").annotate(used=Sum("used_tokens"), calls=Sum("calls"))
        return {(model, section): used // calls for model, section, used, calls in summed if calls}

    def recent_turns(self, project_id: str, profile_id: str) -> Sequence[tuple[str, int, int]]:
        rows = Turn.objects.filter(
            session__project_id=project_id,
            session__profile_id=profile_id,
            created_at__gte=read_now() - REPLAYED,
        )
        newest = rows.order_by("-id").values_list("session__model", "used_tokens", "total_tokens")
        return list(newest[:MAX_REPLAYED])

    def running_under(self, project_id: str, scope: str, scope_id: str) -> int:
        wanted = {
            Scope.PROJECT: Q(),
            Scope.TEAM: Q(),
            Scope.MODEL: Q(model=shown_scope_id(scope, scope_id)),
            Scope.KEY: Q(key_id=scope_id),
            Scope.SESSION: Q(pk=scope_id),
        }[Scope(scope)]
        rows = AgentSession.objects.of_project(project_id).filter(wanted, state=AgentSession.State.ACTIVE)
        return rows.count()


register_users(SessionUsers())
