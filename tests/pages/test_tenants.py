"""P16 for pages: nothing of another team can be read, changed or counted."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.test import Client

from teams.models import Membership
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
    """Not a row of any table: what is refused leaves no trace, in whose project ever."""
    before = _every_row()
    for route in sorted(set(BOUND)):
        for action in ("remove", "cancel", "password", "rotate", "test"):
            form = {"role": "viewer", "amount": "1", "state": "ended", "model": "gpt-4", "action": action}
            browser.post(address(route, globex), form)
    assert _every_row() == before


def test_an_id_of_another_team_in_a_form_is_refused(acme: Tenant, globex: Tenant, browser: Client) -> None:
    before = _every_row()
    for path, form in _forms_that_name(globex):
        assert browser.post(path, form).status_code in (302, 404, 422), path
    assert _every_row() == before


def _forms_that_name(tenant: Tenant) -> list[tuple[str, dict[str, Any]]]:
    """Forms whose address is the visitor's own and whose fields name rows."""
    cap = {"period": "day", "limit": "5"}
    return [
        *[
            ("/sessions/bulk", {"action": action, "session": [tenant.session.pk]})
            for action in ("compact", "checkpoint", "pause", "resume", "erase")
        ],
        ("/approvals/decide", {"decision": "approve", "amount": "1", "approval": [tenant.approval.pk]}),
        ("/approvals/decide", {"decision": "decline", "approval": [tenant.approval.pk]}),
        ("/profiles/new", {"name": "stolen", "copy_of": tenant.profile.pk}),
        ("/caps/new", {"scope": "session", "session_id": tenant.session.pk, **cap}),
        ("/caps/new", {"scope": "key", "key_id": tenant.key.pk, **cap}),
        ("/keys", {"scope": "approve", "acts_for": tenant.owner.username}),
        (f"/settings?project={tenant.project.pk}", {"time_zone": "Asia/Tokyo"}),
        (f"/members?project={tenant.project.pk}", {"username": "eve", "role": "owner"}),
        (f"/projects/new?project={tenant.project.pk}", {"name": "more"}),
        (f"/webhooks?project={tenant.project.pk}", {"url": "https://example.com/"}),
        (f"/models?project={tenant.project.pk}", {"name": "gpt-5", "action": "override"}),
    ]


def _every_row() -> dict[str, list[Any]]:
    """All tables but the browser's own session."""
    tables = [table for table in apps.get_models() if table._meta.label != "sessions.Session"]
    return {table._meta.label: list(table._default_manager.order_by("pk").values_list()) for table in tables}


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
    for page in [*pages_of(acme), *_pages_that_ask_for(globex)]:
        response = browser.get(page)
        text = b"".join(response.streaming_content) if response.streaming else response.content
        for secret in secrets:
            # What somebody typed into the address comes back in the filter box and in links.
            assert secret in page or secret.encode() not in text, (page, secret)


def _pages_that_ask_for(tenant: Tenant) -> list[str]:
    return [
        f"/sessions?parent={tenant.session.pk}",
        f"/sessions?q=profile:{tenant.profile.name}",
        f"/analytics?profile={tenant.profile.pk}",
        f"/caps/new?session={tenant.session.pk}",
        f"/audit?q={tenant.session.pk}",
        f"/jobs?q={tenant.job.pk}",
    ]


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
