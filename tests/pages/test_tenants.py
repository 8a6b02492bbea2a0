"""P16 for pages: nothing of another team can be read, changed or counted."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions.models import AgentSession
from teams.models import AuditEvent, Membership
from tests.pages.routes import OPEN, POSTED, address, all_routes, pages_of
from tests.pages.world import Tenant

BOUND = [route for route in all_routes() if "<" in route and route not in OPEN]


@pytest.mark.parametrize("route", sorted(set(BOUND)))
def test_it_hides_another_team(acme: Tenant, globex: Tenant, browser: Client, route: str) -> None:
    where = address(route, globex)
    responses = [browser.post(where, {"role": "viewer", "amount": "1", "state": "ended", "model": "gpt-4"})]
    if route not in POSTED:
        responses.append(browser.get(where))
    for response in responses:
        assert response.status_code == 404, where
        assert b"Globex" not in response.content


def test_it_changes_nothing_of_another_team(acme: Tenant, globex: Tenant, browser: Client) -> None:
    before = _state_of(globex)
    for route in sorted(set(BOUND)):
        browser.post(
            address(route, globex),
            {"role": "viewer", "amount": "1", "state": "ended", "model": "gpt-4", "action": "remove"},
        )
    browser.post("/sessions/bulk", {"action": "pause", "session": [globex.session.pk]})
    browser.post(
        "/approvals/decide", {"decision": "approve", "amount": "1", "approval": [globex.approval.pk]}
    )
    assert _state_of(globex) == before


def _state_of(tenant: Tenant) -> tuple[object, ...]:
    sessions = AgentSession.objects.of_project(tenant.project.pk).order_by("pk")
    return (
        list(sessions.values("pk", "state", "model", "epoch", "signal_seq")),
        list(tenant.project.api_keys.values("pk", "revoked_at")),
        list(Membership.objects.filter(team=tenant.project.team).values("pk", "role")),
        list(tenant.project.webhooks.values("pk", "active", "deliveries__pk")),
        AuditEvent.objects.filter(team=tenant.project.team).count(),
        tenant.cap.balances.values_list("limit_nano", flat=True).first(),
    )


def test_it_names_nothing_of_another_team_on_any_page(acme: Tenant, globex: Tenant, browser: Client) -> None:
    secrets = (
        globex.session.pk,
        "Globex",
        "owner-of-Globex",
        globex.key.prefix,
        globex.cap.pk,
        globex.webhook.pk,
        globex.job.pk,
    )
    for page in pages_of(acme):
        response = browser.get(page)
        text = b"".join(response.streaming_content) if response.streaming else response.content
        for secret in secrets:
            assert secret.encode() not in text, (page, secret)


def test_it_does_not_switch_to_a_project_of_another_team(
    acme: Tenant, globex: Tenant, browser: Client
) -> None:
    assert browser.get(f"/sessions?project={globex.project.pk}").status_code == 404
    assert b"Acme" in browser.get("/sessions").content


def test_somebody_in_no_team_sees_nothing(acme: Tenant, django_user_model: type) -> None:
    loner = django_user_model.objects.create_user(username="loner")  # type: ignore[attr-defined]
    client = Client()
    client.force_login(loner)
    for page in pages_of(acme):
        assert client.get(page).status_code == 403, page


def test_a_member_of_both_teams_has_the_role_of_each(acme: Tenant, globex: Tenant) -> None:
    """Owner at home, viewer next door: the door counts."""
    client = globex.member("viewer")
    visitor = client.session["_auth_user_id"]
    Membership.objects.create(
        team=acme.project.team, user_id=visitor, role="owner", created_at=acme.project.created_at
    )
    assert client.get(f"/sessions/{globex.session.pk}").status_code == 200
    assert client.post(f"/sessions/{globex.session.pk}/checkpoint").status_code == 403
    assert client.post(f"/sessions/{acme.session.pk}/checkpoint").status_code == 302
