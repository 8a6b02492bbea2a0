"""Roles: what somebody may not do is refused, is disabled on the page, and the page says who can."""

from __future__ import annotations

import pytest

from sessions.models import Approval
from teams.models import Membership
from tests.pages.routes import address
from tests.pages.world import Tenant

MANAGED = {
    "sessions/bulk": {},
    "sessions/<str:session_id>/compact": {},
    "sessions/<str:session_id>/checkpoint": {},
    "sessions/<str:session_id>/state": {"state": "paused"},
    "sessions/<str:session_id>/model": {"model": "gpt-4"},
    "sessions/<str:session_id>/pin": {"pinned": "yes"},
    "sessions/<str:session_id>/erase": {},
    "sessions/<str:session_id>/restore/<str:number>": {},
    "sessions/<str:session_id>/dead-ends/<str:note_id>/dismiss": {},
    "jobs/<str:job_id>": {"action": "cancel"},
    "profiles/new": {"name": "mine", "copy_of": "ratio-default"},
    "profiles/<str:profile_id>": {},
    "profiles/<str:profile_id>/publish": {"revision": "1"},
    "caps/new": {"scope": "project", "limit": "5"},
    "caps/<str:cap_id>": {"limit": "5"},
    "caps/<str:cap_id>/raise": {"amount": "5"},
    "caps/<str:cap_id>/verify": {},
    "models": {"name": "gpt-5", "action": "override", "context_window": "1000"},
    "keys": {"scope": "agent"},
    "keys/<str:key_id>/rotate": {},
    "keys/<str:key_id>/revoke": {},
    "webhooks": {"url": "https://example.com/"},
    "webhooks/<str:webhook_id>": {"action": "remove"},
    "settings": {"time_zone": "UTC"},
}
PEOPLE = {"members": {"username": "eve", "role": "viewer"}, "projects/new": {"name": "more"}}


@pytest.mark.parametrize("role", ["approver", "analyst", "viewer"])
def test_it_lets_only_owners_and_admins_manage(acme: Tenant, role: str) -> None:
    client = acme.member(role)
    for route, form in {**MANAGED, **PEOPLE}.items():
        response = client.post(address(route, acme), form)
        assert response.status_code == 403, route
        assert "owners and admins can do this" in response.content.decode(), route


@pytest.mark.parametrize("route", [route for route in MANAGED if "<" in route])
def test_a_role_at_home_does_not_count_next_door(acme: Tenant, globex: Tenant, route: str) -> None:
    """Owner of the project they look at, viewer of the one that the address leads to: the row's decides."""
    client = globex.member("viewer")
    Membership.objects.create(
        team=acme.project.team,
        user_id=client.session["_auth_user_id"],
        role="owner",
        created_at=acme.project.created_at,
    )
    client.get(f"/?project={acme.project.pk}")
    response = client.post(address(route, globex), MANAGED[route])
    assert response.status_code == 403
    assert "Your role is viewer" in response.content.decode()


@pytest.mark.parametrize("role", ["owner", "admin"])
def test_it_lets_owners_and_admins_manage(acme: Tenant, role: str) -> None:
    client = acme.member(role)
    assert client.post(f"/sessions/{acme.session.pk}/checkpoint").status_code == 302
    created = client.post("/keys", {"scope": "agent", "name": "build"})
    assert "shown this once" in created.content.decode()
    assert created["Cache-Control"] == "no-store"


@pytest.mark.parametrize("role", ["analyst", "viewer"])
def test_it_disables_what_somebody_may_not_do_and_says_who_can(acme: Tenant, role: str) -> None:
    html = acme.member(role).get(f"/sessions/{acme.approval.session_id}").content.decode()
    assert "<button disabled>Compact now</button>" in html
    assert "owners and admins can do these" in html
    assert "owners, admins and approvers can answer" in html
    assert "/approve" not in html


def test_an_approver_answers_and_others_do_not(acme: Tenant) -> None:
    where = f"/approvals/{acme.approval.pk}/approve"
    assert acme.member("viewer").post(where, {"amount": "1"}).status_code == 403
    assert Approval.objects.get(pk=acme.approval.pk).state == "pending"
    assert acme.member("approver").post(where, {"amount": "1"}).status_code == 302
    decided = Approval.objects.get(pk=acme.approval.pk)
    assert (decided.state, decided.added_nano) == ("approved", 10**9)
    assert decided.decided_by == "user:approver-alpha"


def test_reading_an_approval_never_decides_it(acme: Tenant) -> None:
    client = acme.member("approver")
    for path in ("", "/approve", "/decline"):
        client.get(f"/approvals/{acme.approval.pk}{path}")
    assert Approval.objects.get(pk=acme.approval.pk).state == "pending"


def test_a_viewer_reads_no_analytics(acme: Tenant) -> None:
    assert acme.member("viewer").get("/analytics").status_code == 403
    assert acme.member("analyst").get("/analytics").status_code == 200


def test_the_last_owner_cannot_leave(acme: Tenant) -> None:
    client = acme.member("admin")
    member = acme.membership
    assert client.post(f"/members/{member.pk}", {"action": "remove"}).status_code == 403
    owner = acme.member("owner")
    owner.post(f"/members/{member.pk}", {"action": "remove"})
    assert not Membership.objects.filter(pk=member.pk).exists()
    last = Membership.objects.get(team=acme.project.team, role="owner")
    owner.post(f"/members/{last.pk}", {"action": "remove"})
    assert Membership.objects.filter(pk=last.pk).exists()


def test_an_admin_makes_nobody_an_owner(acme: Tenant) -> None:
    client = acme.member("admin")
    assert client.post("/members", {"username": "eve", "role": "owner"}).status_code == 403
    mine = Membership.objects.get(user__username="admin-alpha")
    assert client.post(f"/members/{mine.pk}", {"role": "owner"}).status_code == 403
    assert Membership.objects.get(pk=mine.pk).role == "admin"
