"""POST /holds/{id}/settle, alone and together with usage events."""

from __future__ import annotations

import pytest

from budgets.models import LedgerEntry
from sessions.models import AgentSession, UsageBucket
from tests.api.money_calls import MoneyApi, money
from tests.conftest import Clock
from tests.money import books_balance

__all__ = ["books_balance", "money"]

USAGE = {"input_tokens": 1000, "output_tokens": 100}
COST_USD = "0.036"  # gpt-4: 30 and 60 USD a million tokens


def totals(session: str) -> tuple[int, int, int]:
    """What the ledger, the rollups and the session itself say was spent."""
    ledger = sum(row.cost_nano or 0 for row in LedgerEntry.objects.filter(session_id=session))
    rollups = sum(UsageBucket.objects.filter(section="").values_list("cost_nano", flat=True))
    return ledger, rollups, AgentSession.objects.get(pk=session).spent_nano


def usage_event(response_id: str | None, **usage: int) -> dict[str, object]:
    event: dict[str, object] = {"type": "usage", "usage": {**USAGE, **usage}}
    return {**event, "response_id": response_id} if response_id else event


def test_it_prices_the_usage_and_counts_a_turn(money: MoneyApi) -> None:
    session = money.open_session()
    hold = money.hold(session, "0.05").json()["id"]
    answer = money.agent.post(f"/holds/{hold}/settle", {"usage": USAGE})
    assert answer.status_code == 200
    body = answer.json()
    assert (body["state"], body["cost_usd"], body["overrun_usd"]) == ("settled", COST_USD, "0")
    assert totals(session) == (36_000_000,) * 3
    row = AgentSession.objects.get(pk=session)
    assert (row.turns, row.input_tokens, row.output_tokens) == (1, 1000, 100)


def test_it_takes_a_providers_own_usage_shape(money: MoneyApi) -> None:
    hold = money.hold(money.open_session(), "0.05").json()["id"]
    body = {"usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}}
    assert money.agent.post(f"/holds/{hold}/settle", body).json()["cost_usd"] == COST_USD


def test_a_stated_cost_is_taken_as_it_is(money: MoneyApi) -> None:
    session = money.open_session()
    assert money.spend(session, "0.0041", held_usd="0.0055")["cost_usd"] == "0.0041"
    assert totals(session) == (4_100_000,) * 3


def test_twice_gives_the_same_answer(money: MoneyApi) -> None:
    session = money.open_session()
    hold = money.hold(session, "0.05").json()["id"]
    first, second = money.settle(hold, "0.04"), money.settle(hold, "0.02")
    assert (second.status_code, second.json()) == (200, first.json())
    assert totals(session) == (40_000_000,) * 3


def test_after_a_void_it_is_refused(money: MoneyApi) -> None:
    hold = money.hold(money.open_session(), "0.05").json()["id"]
    money.agent.post(f"/holds/{hold}/void")
    answer = money.settle(hold, "0.04")
    assert (answer.status_code, answer.json()["code"]) == (409, "hold_resolved")


def test_after_expiry_it_is_still_recorded(money: MoneyApi, clock: Clock) -> None:
    session = money.open_session()
    cap = money.cap("0.05", session=session)
    hold = money.hold(session, "0.05", ttl_s=5).json()["id"]
    clock.advance(seconds=6)
    money.hold(session, "0.01")
    body = money.settle(hold, "0.03").json()
    assert (body["state"], body["late"]) == ("settled", True)
    assert money.manager.get(f"/caps/{cap}").json()["window"]["spent_usd"] == "0.03"


def test_above_the_hold_it_is_recorded_in_full_and_pauses_when_the_cap_is_passed(money: MoneyApi) -> None:
    session = money.open_session()
    money.cap("0.05", session=session)
    body = money.spend(session, "0.07", held_usd="0.04")
    assert (body["cost_usd"], body["overrun_usd"]) == ("0.07", "0.03")
    assert money.state(session) == "paused"
    assert money.signals(session) == ["COST_WARNING", "COST_LIMIT", "INPUT_REQUESTED"]


def test_above_the_hold_but_inside_the_cap_it_goes_on(money: MoneyApi) -> None:
    session = money.open_session()
    money.cap("0.05", session=session)
    assert money.spend(session, "0.02", held_usd="0.01")["overrun_usd"] == "0.01"
    assert money.state(session) == "active"


def test_the_warning_is_said_once_in_a_window(money: MoneyApi, clock: Clock) -> None:
    session = money.open_session()
    money.cap("0.05", session=session, period="day")
    for _ in range(3):
        money.spend(session, "0.015")
    assert money.signals(session) == ["COST_WARNING"]
    clock.advance(days=1)
    for _ in range(3):
        money.spend(session, "0.015")
    assert money.signals(session) == ["COST_WARNING"] * 2


@pytest.mark.parametrize("settle_first", [True, False])
def test_a_usage_event_of_the_same_response_counts_once(money: MoneyApi, settle_first: bool) -> None:
    session = money.open_session()
    cap = money.cap("1", session=session)
    hold = money.hold(session, "0.05").json()["id"]
    settle = lambda: money.agent.post(  # noqa: E731
        f"/holds/{hold}/settle", {"usage": USAGE, "response_id": "resp_1"}
    )
    report = lambda: money.agent.post(  # noqa: E731
        f"/sessions/{session}/events", {"events": [usage_event("resp_1")]}
    )
    for call in (settle, report) if settle_first else (report, settle):
        assert call().status_code in (200, 201)
    assert totals(session) == (36_000_000,) * 3
    assert AgentSession.objects.get(pk=session).turns == 1
    assert money.manager.get(f"/caps/{cap}").json()["window"]["spent_usd"] == COST_USD


def test_usage_without_a_hold_fills_the_cap_too(money: MoneyApi) -> None:
    session = money.open_session()
    cap = money.cap("0.03", session=session)
    answer = money.agent.post(f"/sessions/{session}/events", {"events": [usage_event(None)]})
    assert answer.status_code == 201
    assert money.manager.get(f"/caps/{cap}").json()["window"]["spent_usd"] == COST_USD
    assert money.state(session) == "paused"
    assert {row["kind"] for row in answer.json()["signals"]} >= {"COST_LIMIT", "INPUT_REQUESTED"}


def test_a_repeated_response_replaces_its_usage_by_a_correction(money: MoneyApi) -> None:
    session = money.open_session()
    for output in (1, 50, 100):
        body = {"events": [usage_event("resp_1", output_tokens=output)]}
        assert money.agent.post(f"/sessions/{session}/events", body).status_code == 201
    assert totals(session) == (36_000_000,) * 3
    kinds = list(LedgerEntry.objects.order_by("id").values_list("kind", flat=True))
    assert kinds == ["usage", "correction", "usage", "correction", "usage"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"usage": {}},
        {"usage": {"input_tokens": -5}},
        {"usage": {"input_tokens": True}},
        {"usage": {"input_tokens": 2**63}},
        {"usage": {"input_tokens": "1_000"}},
        {"cost_usd": 1},
        {"cost_usd": "1", "response_id": "a\x00b"},
        {"cost_usd": "1", "colour": "red"},
    ],
)
def test_it_refuses_bad_usage_and_changes_nothing(money: MoneyApi, body: dict[str, object]) -> None:
    hold = money.hold(money.open_session(), "0.05").json()["id"]
    assert money.agent.post(f"/holds/{hold}/settle", body).status_code == 422
    assert money.agent.get(f"/holds/{hold}").json()["state"] == "open"


def test_a_sum_that_no_longer_fits_is_refused_and_changes_nothing(money: MoneyApi) -> None:
    session = money.open_session()
    money.cap("1", session=session)
    money.spend(session, "1000000000", held_usd="0.5")
    money.approver.post(f"/approvals/{_pending(money)}/approve", {"amount_usd": "1000000000"})
    money.spend(session, "1000000000", held_usd="0.5")
    money.approver.post(f"/approvals/{_pending(money)}/approve", {"amount_usd": "1000000000"})
    hold = money.hold(session, "0.5").json()["id"]
    answer = money.settle(hold, "1000000000")
    assert (answer.status_code, answer.json()["code"]) == (409, "sum_overflow")
    assert money.agent.get(f"/holds/{hold}").json()["state"] == "open"


def _pending(money: MoneyApi) -> str:
    return str(money.agent.get("/approvals?state=pending").json()["items"][0]["id"])
