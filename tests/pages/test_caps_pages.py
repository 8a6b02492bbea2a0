"""Caps in the browser: made, simulated on history, verified through the real path, raised and ended."""

from __future__ import annotations

import pytest
from django.test import Client

from budgets.models import Balance, Cap, Hold
from budgets.services.cap_trials import try_cap
from tests.pages.world import Tenant


def make(browser: Client, **form: str) -> Cap:
    browser.post("/caps/new", {"scope": "project", "period": "month", "limit": "5", **form})
    return Cap.objects.order_by("-pk").first() or pytest.fail("no cap was made")


def test_a_cap_counts_what_was_spent_before_it(acme: Tenant, browser: Client) -> None:
    cap = make(browser)
    html = browser.get(f"/caps/{cap.pk}").content.decode()
    assert "$5.00" in html
    assert Balance.objects.get(cap=cap).settled_nano > 0


@pytest.mark.parametrize("scope", ["project", "model", "key", "session"])
def test_a_cap_of_every_scope_is_shown_to_hold(acme: Tenant, browser: Client, scope: str) -> None:
    ids = {
        "model_id": "gpt-5-mini",
        "key_id": acme.key.pk,
        "session_id": acme.session.pk,
    }
    cap = make(browser, scope=scope, **ids)
    holds, balance = Hold.objects.count(), list(Balance.objects.values("pk", "reserved_nano"))
    answer = browser.post(f"/caps/{cap.pk}/verify", follow=True)
    assert "It holds" in answer.content.decode()
    assert (Hold.objects.count(), list(Balance.objects.values("pk", "reserved_nano"))) == (holds, balance)


def test_a_cap_that_holds_no_longer_is_found_out(acme: Tenant, browser: Client) -> None:
    """The mutant: an ended cap refuses nothing, and the trial says so."""
    cap = make(browser)
    Cap.objects.filter(pk=cap.pk).update(active=False)
    trial = try_cap(cap)
    assert trial.refused_by is None


def test_simulating_changes_nothing(acme: Tenant, browser: Client) -> None:
    cap = make(browser)
    html = browser.get(f"/caps/{cap.pk}?limit=0.0001").content.decode()
    assert "would pause at their next call" in html
    assert "has room" in browser.get(f"/caps/{cap.pk}?limit=100").content.decode()
    assert Cap.objects.get(pk=cap.pk).limit_nano == 5 * 10**9


def test_changing_raising_and_ending_a_cap(acme: Tenant, browser: Client) -> None:
    cap = make(browser)
    browser.post(f"/caps/{cap.pk}", {"limit": "7.50"})
    assert Cap.objects.get(pk=cap.pk).limit_nano == 7_500_000_000
    browser.post(f"/caps/{cap.pk}/raise", {"amount": "1"})
    assert Balance.objects.get(cap=cap).limit_nano == 8_500_000_000
    assert Cap.objects.get(pk=cap.pk).limit_nano == 7_500_000_000
    browser.post(f"/caps/{cap.pk}", {"action": "remove"})
    assert not Cap.objects.get(pk=cap.pk).active


@pytest.mark.parametrize(
    "form",
    [{"limit": "lots"}, {"scope": "session", "session_id": ""}, {"scope": "session", "session_id": "x"}],
)
def test_a_cap_that_makes_no_sense_is_refused(acme: Tenant, browser: Client, form: dict[str, str]) -> None:
    before = Cap.objects.count()
    answer = browser.post("/caps/new", {"scope": "project", "period": "day", "limit": "5", **form})
    assert answer.status_code in (404, 422)
    assert Cap.objects.count() == before


@pytest.mark.parametrize(("field", "value"), [("scope", "galaxy"), ("period", "eon"), ("scope", "team")])
def test_an_unknown_scope_or_period_is_refused(acme: Tenant, browser: Client, field: str, value: str) -> None:
    form = {"scope": "project", "period": "day", "limit": "5", field: value}
    assert browser.post("/caps/new", form).status_code == 422
