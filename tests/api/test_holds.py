"""POST /sessions/{id}/holds, void and extend."""

from __future__ import annotations

import pytest

from budgets.models import Hold
from teams.models import Project
from tests.api.client import Api
from tests.api.money_calls import MoneyApi, money
from tests.money import books_balance

__all__ = ["books_balance", "money"]


def test_it_sets_money_aside_and_says_what_is_left(money: MoneyApi) -> None:
    session = money.open_session()
    money.cap("0.05", session=session)
    answer = money.hold(session, "0.0055")
    assert answer.status_code == 201
    body = answer.json()
    assert body["id"].startswith("hold_")
    assert (body["amount_usd"], body["remaining_usd"], body["state"]) == ("0.0055", "0.0445", "open")
    assert body["expires_at"] > body["created_at"]


def test_it_prices_an_estimate_in_tokens(money: MoneyApi) -> None:
    session = money.open_session()
    body = money.agent.post(f"/sessions/{session}/holds", {"estimate": {"input": 1000, "output": 300}}).json()
    # gpt-4: 30 and 60 USD a million tokens.
    assert body["amount_usd"] == "0.048"
    assert body["estimate"] == {"input": 1000, "output": 300, "basis": "output"}


def test_a_missing_output_is_the_average_of_the_session_not_the_models_maximum(money: MoneyApi) -> None:
    session = money.open_session()
    for output in (100, 301):
        hold = money.hold(session, "0.1").json()["id"]
        usage = {"input_tokens": 10, "output_tokens": output}
        money.agent.post(f"/holds/{hold}/settle", {"usage": usage})
    body = money.agent.post(f"/sessions/{session}/holds", {"estimate": {"input": 0}}).json()
    assert body["estimate"] == {"input": 0, "output": 201, "basis": "average"}


def test_it_works_by_the_agents_own_session_id(money: MoneyApi) -> None:
    money.open_session(external_id="run-7")
    assert money.hold("ext:run-7", "0.01").status_code == 201


def test_settled_spend_refuses_with_402_pauses_and_asks(money: MoneyApi) -> None:
    session = money.open_session()
    cap = money.cap("0.05", session=session)
    money.spend(session, "0.04")
    answer = money.hold(session, "0.02")
    assert answer.status_code == 402
    assert answer.headers["x-should-retry"] == "false"
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert (body["code"], body["limit_source"], body["cap"]) == ("cap_reached", "session", cap)
    assert (body["limit_usd"], body["spent_usd"], body["reserved_usd"]) == ("0.05", "0.04", "0")
    assert body["resets_at"] is None
    assert body["approval"].startswith("appr_")
    assert body["approval_url"].endswith(body["approval"])
    assert money.state(session) == "paused"
    assert money.signals(session)[-2:] == ["COST_LIMIT", "INPUT_REQUESTED"]


def test_open_holds_alone_refuse_with_429_and_nothing_pauses(money: MoneyApi) -> None:
    session = money.open_session()
    money.cap("0.05", session=session, period="day")
    money.hold(session, "0.04")
    answer = money.hold(session, "0.02")
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) >= 1
    body = answer.json()
    assert (body["code"], body["limit_source"], body["approval"]) == ("cap_busy", "session", None)
    assert (body["limit_usd"], body["spent_usd"], body["reserved_usd"]) == ("0.05", "0", "0.04")
    assert body["resets_at"].endswith("Z")
    assert money.state(session) == "active"


def test_a_paused_session_answers_402_with_the_same_approval(money: MoneyApi) -> None:
    session = money.open_session()
    money.cap("0.05", session=session)
    first = money.hold(session, "0.06").json()
    again = money.hold(session, "0.001")
    assert (again.status_code, again.json()["approval"]) == (402, first["approval"])


def test_a_session_paused_by_hand_answers_409(money: MoneyApi) -> None:
    session = money.open_session()
    money.agent.patch(f"/sessions/{session}", {"state": "paused"})
    answer = money.hold(session, "0.01")
    assert (answer.status_code, answer.json()["code"]) == (409, "session_paused")


def test_a_project_cap_pauses_every_session_and_says_which(money: MoneyApi) -> None:
    sessions = [money.open_session() for _ in range(3)]
    money.cap("0.05")
    body = money.hold(sessions[0], "0.06").json()
    assert body["limit_source"] == "project"
    assert body["paused_sessions"] == sorted(sessions)
    assert [money.state(session) for session in sessions] == ["paused"] * 3
    assert all("COST_LIMIT" in money.signals(session) for session in sessions)


def test_a_dry_run_says_what_would_happen_and_changes_nothing(money: MoneyApi) -> None:
    session = money.open_session()
    money.cap("0.05", session=session)
    admitted = money.hold(session, "0.05", dry_run=True)
    assert (admitted.status_code, admitted.json()["admitted"]) == (200, True)
    refused = money.hold(session, "0.06", dry_run=True)
    assert (refused.status_code, refused.json()["approval"]) == (402, None)
    assert money.state(session) == "active"
    assert not Hold.objects.exists()


@pytest.mark.parametrize(
    ("policy", "status", "unpriced", "free"),
    [
        ("block", 422, None, None),  # no price, no call
        ("tokens_only", 201, True, True),  # admitted, and said to be unpriced
        ("assume_highest", 201, False, False),  # reckoned at the dearest price known
    ],
)
def test_an_unpriced_model_follows_the_projects_policy(
    money: MoneyApi, project: Project, policy: str, status: int, unpriced: bool | None, free: bool | None
) -> None:
    project.unpriced_policy = policy
    project.save()
    session = money.open_session(model="home-grown-7b")
    answer = money.agent.post(f"/sessions/{session}/holds", {"estimate": {"input": 1000, "output": 10}})
    assert answer.status_code == status
    if status == 422:
        assert answer.json()["code"] == "unpriced_model"
    else:
        body = answer.json()
        assert (body["unpriced"], body["amount_usd"] == "0") == (unpriced, free)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/estimate"),
        ({"estimate": {}}, "/estimate"),
        ({"estimate": {"input": 1, "cost_usd": "1"}}, "/estimate"),
        ({"estimate": {"input": -5}}, "/estimate/input"),
        ({"estimate": {"input": True}}, "/estimate/input"),
        ({"estimate": {"input": "1_000"}}, "/estimate/input"),
        ({"estimate": {"input": 1.0}}, "/estimate/input"),
        ({"estimate": {"input": 2**63}}, "/estimate/input"),
        ({"estimate": {"cost_usd": 0.5}}, "/estimate/cost_usd"),
        ({"estimate": {"cost_usd": "-0.5"}}, "/estimate/cost_usd"),
        ({"estimate": {"cost_usd": "1"}, "ttl_s": 0}, "/ttl_s"),
        ({"estimate": {"cost_usd": "1"}, "ttl_s": 10**9}, "/ttl_s"),
        ({"estimate": {"cost_usd": "1"}, "colour": 1}, "/colour"),
    ],
)
def test_it_refuses_bad_estimates_with_the_field(
    money: MoneyApi, body: dict[str, object], pointer: str
) -> None:
    answer = money.agent.post(f"/sessions/{money.open_session()}/holds", body)
    assert answer.status_code == 422
    assert any(error["pointer"].startswith(pointer) for error in answer.json()["errors"]), answer.json()


def test_the_same_idempotency_key_holds_once(money: MoneyApi) -> None:
    session = money.open_session()
    body = {"estimate": {"cost_usd": "0.01"}}
    answers = [
        money.agent.post(f"/sessions/{session}/holds", body, headers={"Idempotency-Key": "k1"})
        for _ in range(3)
    ]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert Hold.objects.count() == 1
    other = money.agent.post(
        f"/sessions/{session}/holds", {"estimate": {"cost_usd": "9"}}, headers={"Idempotency-Key": "k1"}
    )
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_a_refusal_is_not_remembered_by_its_idempotency_key(money: MoneyApi) -> None:
    session = money.open_session()
    money.cap("0.05", session=session)
    blocking = money.hold(session, "0.05").json()["id"]
    body, headers = {"estimate": {"cost_usd": "0.01"}}, {"Idempotency-Key": "k1"}
    assert money.agent.post(f"/sessions/{session}/holds", body, headers=headers).status_code == 429
    money.agent.post(f"/holds/{blocking}/void")
    assert money.agent.post(f"/sessions/{session}/holds", body, headers=headers).status_code == 201


def test_voiding_frees_the_money(money: MoneyApi) -> None:
    session = money.open_session()
    money.cap("0.05", session=session)
    hold = money.hold(session, "0.05").json()["id"]
    assert money.agent.post(f"/holds/{hold}/void").json()["state"] == "voided"
    assert money.hold(session, "0.05").status_code == 201


def test_extending_moves_the_expiry(money: MoneyApi) -> None:
    hold = money.hold(money.open_session(), "0.05", ttl_s=10).json()
    extended = money.agent.post(f"/holds/{hold['id']}/extend", {"ttl_s": 3600})
    assert extended.status_code == 200
    assert extended.json()["expires_at"] > hold["expires_at"]


def test_another_projects_session_and_hold_are_not_found(money: MoneyApi, other_key: str) -> None:
    session = money.open_session()
    hold = money.hold(session, "0.01").json()["id"]
    stranger = Api(key=other_key)
    answers = [
        stranger.post(f"/sessions/{session}/holds", {"estimate": {"cost_usd": "1"}}),
        stranger.get(f"/holds/{hold}"),
        stranger.post(f"/holds/{hold}/settle", {"cost_usd": "1"}),
        stranger.post(f"/holds/{hold}/void"),
        stranger.post(f"/holds/{hold}/extend"),
    ]
    assert [answer.status_code for answer in answers] == [404] * 5


def test_it_needs_the_agent_scope(money: MoneyApi) -> None:
    session = money.open_session()
    answer = money.manager.post(f"/sessions/{session}/holds", {"estimate": {"cost_usd": "1"}})
    assert (answer.status_code, answer.json()["required_scope"]) == (403, "agent")
