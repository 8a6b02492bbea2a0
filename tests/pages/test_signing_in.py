"""Signing in: a brake on guessing, invitations and forgotten passwords by a link that works once."""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client

from ctxbudget_site.console.signing_in import MAX_FAILURES
from tests.pages.world import PASSWORD, Tenant


@pytest.fixture(autouse=True)
def counters(db: None) -> None:
    call_command("createcachetable", verbosity=0)
    cache.clear()


def sign_in(client: Client, name: str, password: str, address: str = "10.0.0.1") -> int:
    form = {"username": name, "password": password}
    return client.post("/login", form, REMOTE_ADDR=address).status_code


def test_it_lets_a_member_in(acme: Tenant) -> None:
    client = Client()
    assert sign_in(client, acme.owner.username, PASSWORD) == 302
    assert client.get("/").status_code == 200


def test_it_stops_guessing_even_with_the_right_password(acme: Tenant) -> None:
    client = Client()
    for _ in range(MAX_FAILURES):
        assert sign_in(client, acme.owner.username, "wrong") == 200
    assert sign_in(client, acme.owner.username, PASSWORD) == 429
    assert client.get("/").status_code == 302


def test_it_stops_one_name_at_one_address_only(acme: Tenant) -> None:
    for _ in range(MAX_FAILURES):
        sign_in(Client(), acme.owner.username, "wrong")
    assert sign_in(Client(), acme.owner.username, PASSWORD, address="10.0.0.2") == 302


def test_a_success_forgets_the_failures(acme: Tenant) -> None:
    for _ in range(MAX_FAILURES - 1):
        sign_in(Client(), acme.owner.username, "wrong")
    assert sign_in(Client(), acme.owner.username, PASSWORD) == 302
    assert sign_in(Client(), acme.owner.username, "wrong") == 200
    assert sign_in(Client(), acme.owner.username, PASSWORD) == 302


def test_it_does_not_send_anybody_to_another_host(acme: Tenant) -> None:
    form = {"username": acme.owner.username, "password": PASSWORD, "next": "//evil.example/"}
    assert Client().post("/login", form)["Location"] == "/"


def choose(client: Client, link: str, password: str) -> int:
    page = client.get(link, follow=True)
    where = page.redirect_chain[-1][0] if page.redirect_chain else link
    return client.post(where, {"new_password1": password, "new_password2": password}).status_code


def test_an_invitation_is_a_link_that_works_once(acme: Tenant, browser: Client) -> None:
    html = browser.post("/members", {"username": "nora", "role": "analyst"}).content.decode()
    link = re.search(r"http://testserver(/set-password/[^<]+)", html)
    assert link is not None
    assert choose(Client(), link[1], "another long password") == 302
    assert sign_in(Client(), "nora", "another long password") == 302
    assert "was used or is too old" in Client().get(link[1], follow=True).content.decode()


def test_an_admin_cannot_take_over_an_account_that_reaches_further(
    acme: Tenant, globex: Tenant, browser: Client
) -> None:
    """Somebody who is in two teams, or operates the installation, is not reset by one team's admin."""
    browser.post("/members", {"username": globex.owner.username, "role": "viewer"})
    member = acme.project.team.memberships.get(user=globex.owner)
    assert browser.post(f"/members/{member.pk}", {"action": "password"}).status_code == 403


def test_a_theme_is_kept_in_a_cookie_and_painted_by_the_server(browser: Client) -> None:
    assert 'data-theme="system"' in browser.get("/help").content.decode()
    browser.post("/theme", {"theme": "dark"})
    assert 'data-theme="dark"' in browser.get("/help").content.decode()
    browser.post("/theme", {"theme": '"><script>'})
    assert 'data-theme="dark"' in browser.get("/help").content.decode()
