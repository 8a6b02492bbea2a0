"""Short ways to walk the money endpoints in tests."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model

from teams.models import Project, Team
from teams.services import create_api_key, set_member
from tests.api.client import Answer, Api


class MoneyApi:
    """One agent, its manager and its approver against one project."""

    def __init__(self, *, agent: Api, manager: Api, approver: Api) -> None:
        self.agent, self.manager, self.approver = agent, manager, approver

    def open_session(self, **fields: Any) -> str:
        answer = self.agent.post("/sessions", {"model": "gpt-4", "profile": "ratio-default", **fields})
        assert answer.status_code == 201, answer.json()
        return str(answer.json()["id"])

    def cap(self, limit_usd: str, *, session: str | None = None, **terms: Any) -> str:
        scope = {"scope": "session", "scope_id": session} if session else {"scope": "project"}
        body = {**scope, "limit_usd": limit_usd, "wrap_up_reserve_usd": "0", **terms}
        answer = self.manager.post("/caps", body)
        assert answer.status_code == 201, answer.json()
        return str(answer.json()["id"])

    def hold(self, session: str, cost_usd: str, **fields: Any) -> Answer:
        return self.agent.post(f"/sessions/{session}/holds", {"estimate": {"cost_usd": cost_usd}, **fields})

    def settle(self, hold: str, cost_usd: str, **fields: Any) -> Answer:
        return self.agent.post(f"/holds/{hold}/settle", {"cost_usd": cost_usd, **fields})

    def spend(self, session: str, cost_usd: str, *, held_usd: str | None = None) -> dict[str, Any]:
        hold = self.hold(session, held_usd or cost_usd)
        assert hold.status_code == 201, hold.json()
        answer = self.settle(hold.json()["id"], cost_usd)
        assert answer.status_code == 200, answer.json()
        body: dict[str, Any] = answer.json()
        return body

    def state(self, session: str) -> str:
        return str(self.agent.get(f"/sessions/{session}").json()["state"])

    def signals(self, session: str) -> list[str]:
        return [row["kind"] for row in self.agent.get(f"/sessions/{session}/signals").json()["items"]]


def approve_key(project: Project, *, username: str = "ann", role: str = "approver") -> str:
    user, _ = get_user_model().objects.get_or_create(username=username)
    set_member(team=Team.objects.get(pk=project.team_id), user=user, role=role, actor="system")
    return create_api_key(project=project, scopes=["approve"], acts_for=user).secret


@pytest.fixture
def money(project: Project, agent_key: str, manage_key: str) -> MoneyApi:
    return MoneyApi(
        agent=Api(key=agent_key), manager=Api(key=manage_key), approver=Api(key=approve_key(project))
    )
