"""What holds for every page: it answers members, asks strangers to sign in, and is strict about scripts."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from tests.pages.routes import OPEN, POSTED, address, all_routes, pages_of
from tests.pages.world import Tenant


def test_it_shows_every_page_to_a_member(acme: Tenant, browser: Client) -> None:
    for page in pages_of(acme):
        response = browser.get(page)
        assert response.status_code == 200, (page, response.status_code)


def test_it_asks_a_stranger_to_sign_in(acme: Tenant) -> None:
    for page in pages_of(acme):
        response = Client().get(page)
        assert response.status_code == 302, page
        assert response["Location"].startswith("/login?next="), page


def test_it_asks_a_stranger_to_sign_in_before_anything_is_changed(acme: Tenant) -> None:
    for route in sorted(POSTED):
        response = Client().post(address(route, acme))
        assert response.status_code == 302, route
        assert response["Location"].startswith("/login"), route


def test_it_sends_a_strict_policy_and_no_inline_script_or_style(acme: Tenant, browser: Client) -> None:
    for page in [*pages_of(acme), "/login"]:
        response = browser.get(page, follow=page == "/login")
        policy = response["Content-Security-Policy"]
        assert "script-src 'self';" in policy, page
        assert "unsafe" not in policy, page
        if response.streaming or "html" not in response["Content-Type"]:
            continue
        html = response.content.decode()
        for script in re.findall(r"<script([^>]*)>", html):
            assert "src=" in script or 'type="application/json"' in script, (page, script)
        assert not re.search(r"<[^>]*\s(on\w+|style)=", html), page


def test_it_loads_nothing_from_another_host(acme: Tenant, browser: Client) -> None:
    for page in pages_of(acme):
        response = browser.get(page)
        if response.streaming or "html" not in response["Content-Type"]:
            continue
        loaded = re.findall(r'(?:src|href|action|hx-get|hx-post)="([^"]*)"', response.content.decode())
        outside = [url for url in loaded if re.match(r"[a-z]+:|//", url)]
        assert outside == [], page


def test_it_refuses_a_form_without_its_token(acme: Tenant) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(acme.owner)
    for route in sorted(POSTED | {"sessions/<str:session_id>/compact", "caps/<str:cap_id>", "keys"}):
        assert strict.post(address(route, acme)).status_code == 403, route


@pytest.mark.parametrize("ref", ["sess_unknown", "x" * 300, "%00", "..%2f", "ext:alpha", "'"])
def test_it_says_not_found_for_odd_ids(browser: Client, ref: str) -> None:
    for room in ("sessions", "profiles", "caps", "approvals"):
        assert browser.get(f"/{room}/{ref}").status_code == 404, room


def test_it_knows_every_route(acme: Tenant) -> None:
    """A new page has to be listed here, and is then held to everything above."""
    for route in all_routes():
        if route not in OPEN:
            assert address(route, acme)
    assert set(all_routes()) >= POSTED
    assert set(all_routes()) >= OPEN
