"""Webhooks in the browser: made with a secret shown once, tested, switched off and removed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from teams.models import AuditEvent, Webhook
from teams.views.webhooks import KINDS
from teams.webhooks import JOB_DEAD, secret_of
from tests.pages.world import Tenant

REPOSITORY = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def private_addresses_allowed(settings: Settings) -> None:
    settings.ALLOW_PRIVATE_ADDRESSES = True


def test_the_secret_is_shown_once(acme: Tenant, browser: Client) -> None:
    form = {"url": "http://127.0.0.1:9/hook", "event": ["COMPACTED", "not one of ours"]}
    made = browser.post("/webhooks", form)
    hook = Webhook.objects.exclude(pk=acme.webhook.pk).get()
    assert secret_of(hook) in made.content.decode()
    assert made["Cache-Control"] == "no-store"
    assert hook.events == ["COMPACTED"]
    for page in ("/webhooks", f"/webhooks/{hook.pk}"):
        assert secret_of(hook) not in browser.get(page).content.decode()


def test_a_refused_address_is_said_beside_its_field(
    acme: Tenant, browser: Client, settings: Settings
) -> None:
    settings.ALLOW_PRIVATE_ADDRESSES = False
    refused = browser.post("/webhooks", {"url": "https://127.0.0.1/hook"})
    assert refused.status_code == 422
    html = refused.content.decode()
    assert "127.0.0.1 is not a public address." in html
    assert 'value="https://127.0.0.1/hook"' in html


def test_a_test_appears_in_the_log(acme: Tenant, browser: Client) -> None:
    before = acme.webhook.deliveries.count()
    assert browser.post(f"/webhooks/{acme.webhook.pk}", {"action": "test"}).status_code == 302
    assert acme.webhook.deliveries.count() == before + 1
    html = browser.get(f"/webhooks/{acme.webhook.pk}").content.decode()
    assert acme.webhook.deliveries.latest("id").pk in html
    assert "on its way" in html


def test_it_is_switched_off_on_and_removed_and_the_audit_log_says_who(acme: Tenant, browser: Client) -> None:
    where = f"/webhooks/{acme.webhook.pk}"
    for action, active in (("off", False), ("on", True)):
        browser.post(where, {"action": action})
        assert Webhook.objects.get(pk=acme.webhook.pk).active is active
    assert browser.post(where, {"action": "remove"})["Location"].startswith("/webhooks?")
    assert browser.get(where).status_code == 404
    rows = AuditEvent.objects.filter(subject_id=acme.webhook.pk).order_by("id")
    done = list(rows.values_list("actor", "action"))
    owner = f"user:{acme.owner.username}"
    assert done == [(owner, f"webhook.{name}") for name in ("changed", "changed", "removed")]


def test_who_may_not_manage_sees_the_host_alone(acme: Tenant) -> None:
    viewer = acme.member("viewer")
    for page in ("/webhooks", f"/webhooks/{acme.webhook.pk}"):
        html = viewer.get(page).content.decode()
        assert "https://hooks.example/…" in html
        assert "secret-path" not in html
        assert "owners and admins can do this" in html


def test_every_signal_can_be_chosen() -> None:
    """Signals with names of their own come from profiles' thresholds; all others are on the page."""
    written = "".join(path.read_text() for path in (REPOSITORY / "sessions" / "services").glob("*.py"))
    sent = set(re.findall(r'(?:add_signal\(\s*\w+,|\(|SIGNAL =)\s*"([A-Z]+_?[A-Z]+)"', written))
    assert {*sent, JOB_DEAD} == set(KINDS)
