"""P2: a report sent N times counts once, every answer is equal, and another body under the key is refused."""

from __future__ import annotations

import threading

import pytest
from django.db import transaction

from budgets.models import Hold, LedgerEntry
from kernel.http import idempotency
from kernel.models import IdempotencyRecord
from tests.api.client import Api
from tests.api.money_calls import MoneyApi, money
from tests.money import books_balance
from tests.proofs.racing import FULL, race

__all__ = ["books_balance", "money"]

RETRIES = 200 if FULL else 60
KEY = {"Idempotency-Key": "report-1"}
pytestmark = pytest.mark.django_db(transaction=True)


def usage_report(output: int = 100) -> dict[str, object]:
    return {"events": [{"type": "usage", "usage": {"input_tokens": 1000, "output_tokens": output}}]}


def test_concurrent_retries_of_a_report_count_once_and_hear_the_same(money: MoneyApi) -> None:
    session = money.open_session()
    key = money.agent.key
    answers = race(
        RETRIES,
        lambda number: Api(key=key).post(f"/sessions/{session}/events", usage_report(), headers=KEY),
    )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    replayed = sum(answer.headers.get("Idempotency-Replayed") == "true" for answer in answers)
    assert replayed == RETRIES - 1
    assert LedgerEntry.objects.count() == 1


def test_concurrent_retries_of_a_hold_make_one_hold(money: MoneyApi) -> None:
    session = money.open_session()
    money.cap("0.05", session=session)
    key, body = money.agent.key, {"estimate": {"cost_usd": "0.05"}}
    answers = race(RETRIES, lambda number: Api(key=key).post(f"/sessions/{session}/holds", body, headers=KEY))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert Hold.objects.count() == 1


def test_concurrent_settles_without_any_key_count_once(money: MoneyApi) -> None:
    hold = money.hold(money.open_session(), "0.05").json()["id"]
    key = money.agent.key
    answers = race(RETRIES, lambda number: Api(key=key).post(f"/holds/{hold}/settle", {"cost_usd": "0.04"}))
    assert len({answer.content for answer in answers}) == 1
    assert LedgerEntry.objects.count() == 1


def test_another_body_under_the_key_is_refused(money: MoneyApi) -> None:
    session = money.open_session()
    assert money.agent.post(f"/sessions/{session}/events", usage_report(), headers=KEY).status_code == 201
    other = money.agent.post(f"/sessions/{session}/events", usage_report(7), headers=KEY)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert LedgerEntry.objects.count() == 1


def test_the_proof_catches_a_key_that_is_looked_up_before_it_is_inserted(
    money: MoneyApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant: look for the key, do the work, remember the key. Everybody looks before anybody works."""
    session = money.open_session()
    looked = threading.Barrier(5)

    def look_first(key, view, request, *args, **kwargs):  # type: ignore[no-untyped-def]
        found = IdempotencyRecord.objects.filter(key=key).exists()
        looked.wait(timeout=30)
        assert not found
        with transaction.atomic():
            return view(request, *args, **kwargs)

    monkeypatch.setattr(idempotency, "_run_once", look_first)
    key = money.agent.key
    race(5, lambda number: Api(key=key).post(f"/sessions/{session}/events", usage_report(), headers=KEY))
    assert LedgerEntry.objects.count() == 5
