"""T8 through REST: an agent, a cap, a warning, a pause, a person, and both of their answers."""

from __future__ import annotations

import pytest

from tests.api.money_calls import MoneyApi, money
from tests.money import books_balance

__all__ = ["books_balance", "money"]


@pytest.mark.parametrize("scope", ["session", "project"])
def test_t8_warns_at_80_percent_pauses_at_100_and_goes_on_when_a_person_says_so(
    money: MoneyApi, scope: str
) -> None:
    session = money.open_session()
    cap = money.cap("1", session=session if scope == "session" else None)
    money.spend(session, "0.79")
    assert money.signals(session) == []
    money.spend(session, "0.01")
    assert money.signals(session) == ["COST_WARNING"]
    money.spend(session, "0.2")
    assert money.signals(session) == ["COST_WARNING", "COST_LIMIT", "INPUT_REQUESTED"]
    assert money.state(session) == "paused"
    refused = money.hold(session, "0.01")
    assert (refused.status_code, refused.json()["limit_source"]) == (402, scope)
    approval = refused.json()["approval"]
    assert money.agent.post(f"/approvals/{approval}/approve", {"amount_usd": "1"}).status_code == 403
    assert money.approver.post(f"/approvals/{approval}/approve", {"amount_usd": "1"}).status_code == 200
    assert money.signals(session)[-1] == "APPROVED"
    assert money.manager.get(f"/caps/{cap}").json()["limit_usd"] == "2"
    assert money.hold(session, "0.5").status_code == 201


def test_t8_a_decline_delivers_the_wrap_up_prompt_and_the_turn_is_paid_inside_the_cap(
    money: MoneyApi,
) -> None:
    session = money.open_session()
    cap = money.cap("1", session=session, wrap_up_reserve_usd="0.05")
    money.spend(session, "0.9")
    approval = money.hold(session, "0.1").json()["approval"]
    assert money.approver.post(f"/approvals/{approval}/decline").status_code == 200
    assert money.state(session) == "wrapping_up"
    waiting = money.agent.get(f"/sessions/{session}/interventions").json()["items"]
    assert waiting[0]["kind"] == "wrap_up" and waiting[0]["text"]
    wrap_up = money.hold(session, "0.1").json()
    assert wrap_up["wrap_up"] is True
    money.settle(wrap_up["id"], "0.1")
    assert money.manager.get(f"/caps/{cap}").json()["window"]["spent_usd"] == "1"
