"""/approvals: who may decide, and what a decision does."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection

from sessions.services.approvals import decide_overdue_approvals
from teams.models import AuditEvent, Membership, Project, WebhookDelivery
from teams.services import create_api_key
from teams.webhooks import register_webhook
from tests.api.client import Api
from tests.api.money_calls import MoneyApi, approve_key, money
from tests.conftest import Clock
from tests.money import books_balance

__all__ = ["books_balance", "money"]


@pytest.fixture
def asked(money: MoneyApi) -> tuple[str, str, str]:
    """A session at its cap of 0.05, of which 0.04 are spent; its cap, and the approval."""
    session = money.open_session()
    cap = money.cap("0.05", session=session)
    money.spend(session, "0.04")
    return session, cap, str(money.hold(session, "0.02").json()["approval"])


def test_it_shows_what_is_asked(money: MoneyApi, asked: tuple[str, str, str]) -> None:
    session, cap, approval = asked
    body = money.approver.get(f"/approvals/{approval}").json()
    assert (body["state"], body["session"], body["cap"]) == ("pending", session, cap)
    assert (body["limit_usd"], body["spent_usd"], body["needed_usd"]) == ("0.05", "0.04", "0.02")
    assert (body["default"], body["paused_sessions"]) == ("decline", [session])
    assert body["deadline"] > body["created_at"]
    assert [row["id"] for row in money.agent.get("/approvals?state=pending").json()["items"]] == [approval]


def test_approving_adds_the_amount_and_resumes(money: MoneyApi, asked: tuple[str, str, str]) -> None:
    session, cap, approval = asked
    answer = money.approver.post(f"/approvals/{approval}/approve", {"amount_usd": "0.03"})
    assert answer.status_code == 200
    body = answer.json()
    assert (body["state"], body["added_usd"]) == ("approved", "0.03")
    assert money.state(session) == "active"
    assert money.signals(session)[-1] == "APPROVED"
    assert money.manager.get(f"/caps/{cap}").json()["window"]["limit_usd"] == "0.08"
    assert money.hold(session, "0.04").status_code == 201


@pytest.mark.parametrize("body", [None, {}])
def test_approving_without_an_amount_adds_what_the_call_needs(
    money: MoneyApi, asked: tuple[str, str, str], body: dict[str, str] | None
) -> None:
    session, _, approval = asked
    answer = money.approver.post(f"/approvals/{approval}/approve", body)
    assert (answer.status_code, answer.json()["added_usd"]) == (200, "0.02")
    assert money.hold(session, "0.02").status_code == 201


@pytest.mark.parametrize(
    ("spent", "added", "next_call"),
    [
        ("0.045", "0.02", "0.02"),
        # Asked when the last call was settled, not by the next one: room for a tenth of the limit,
        # beside the reserve of 0.0025 that stays free.
        ("0.048", "0.0055", "0.005"),
        ("0.09", "0.0475", "0.005"),
    ],
)
def test_the_added_amount_covers_an_overrun_and_the_reserve_too(
    money: MoneyApi, spent: str, added: str, next_call: str
) -> None:
    session = money.open_session()
    money.cap("0.05", session=session, wrap_up_reserve_usd="0.0025")
    money.spend(session, spent, held_usd="0.04")
    approval = money.hold(session, "0.02").json()["approval"]
    answer = money.approver.post(f"/approvals/{approval}/approve", {})
    assert answer.json()["added_usd"] == added
    assert money.hold(session, next_call).status_code == 201


def test_approving_a_daily_cap_adds_to_today_only(money: MoneyApi, clock: Clock) -> None:
    session = money.open_session()
    cap = money.cap("0.05", session=session, period="day")
    approval = money.hold(session, "0.06").json()["approval"]
    money.approver.post(f"/approvals/{approval}/approve", {"amount_usd": "0.03"})
    assert money.manager.get(f"/caps/{cap}").json()["window"]["limit_usd"] == "0.08"
    clock.advance(days=1)
    assert money.manager.get(f"/caps/{cap}").json()["window"]["limit_usd"] == "0.05"


def test_declining_wraps_up_inside_the_cap(money: MoneyApi) -> None:
    session = money.open_session()
    cap = money.cap("1", session=session, wrap_up_reserve_usd="0.05")
    money.spend(session, "0.95")
    assert money.state(session) == "paused"
    approval = money.agent.get("/approvals").json()["items"][0]["id"]
    assert money.approver.post(f"/approvals/{approval}/decline").json()["state"] == "declined"
    assert money.state(session) == "wrapping_up"
    assert money.signals(session)[-1] == "DECLINED"
    waiting = money.agent.get(f"/sessions/{session}/interventions").json()["items"]
    assert [row["kind"] for row in waiting] == ["wrap_up"]
    hold = money.hold(session, "0.05")
    assert (hold.status_code, hold.json()["wrap_up"]) == (201, True)
    money.settle(hold.json()["id"], "0.05")
    window = money.manager.get(f"/caps/{cap}").json()["window"]
    assert (window["limit_usd"], window["spent_usd"]) == ("1", "1")
    refused = money.hold(session, "0.01")
    assert (refused.status_code, refused.json()["approval"]) == (402, None)


def test_a_decision_reaches_every_session_that_waits_for_a_project_cap(money: MoneyApi) -> None:
    sessions = [money.open_session() for _ in range(3)]
    money.cap("0.05")
    approval = money.hold(sessions[0], "0.06").json()["approval"]
    money.approver.post(f"/approvals/{approval}/approve", {"amount_usd": "1"})
    assert [money.state(session) for session in sessions] == ["active"] * 3


def test_a_session_paused_by_hand_stays_so(money: MoneyApi) -> None:
    first, second = money.open_session(), money.open_session()
    money.agent.patch(f"/sessions/{second}", {"state": "paused"})
    money.cap("0.05")
    approval = money.hold(first, "0.06").json()["approval"]
    money.approver.post(f"/approvals/{approval}/approve", {"amount_usd": "1"})
    assert (money.state(first), money.state(second)) == ("active", "paused")


@pytest.mark.parametrize("scopes", [["agent"], ["manage"], ["read"], ["agent", "manage", "read"]])
def test_no_key_without_the_approve_scope_decides(
    money: MoneyApi, asked: tuple[str, str, str], project: Project, scopes: list[str]
) -> None:
    session, _, approval = asked
    caller = Api(key=create_api_key(project=project, scopes=scopes).secret)
    for path, body in (("approve", {"amount_usd": "1"}), ("decline", None)):
        answer = caller.post(f"/approvals/{approval}/{path}", body)
        assert (answer.status_code, answer.json()["required_scope"]) == (403, "approve")
    assert money.state(session) == "paused"


def test_a_key_of_somebody_who_may_no_longer_approve_is_refused(
    money: MoneyApi, asked: tuple[str, str, str], project: Project
) -> None:
    former = Api(key=approve_key(project, username="bob"))
    Membership.objects.filter(user__username="bob").update(role="viewer")
    answer = former.post(f"/approvals/{asked[2]}/decline")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_an_approver")


def test_the_second_decision_is_refused(money: MoneyApi, asked: tuple[str, str, str]) -> None:
    approval = asked[2]
    money.approver.post(f"/approvals/{approval}/decline")
    answer = money.approver.post(f"/approvals/{approval}/approve", {"amount_usd": "1"})
    assert (answer.status_code, answer.json()["code"]) == (409, "approval_decided")


def test_a_retried_decision_gives_the_first_answer(money: MoneyApi, asked: tuple[str, str, str]) -> None:
    path, headers = f"/approvals/{asked[2]}/approve", {"Idempotency-Key": "decide-1"}
    answers = [money.approver.post(path, {"amount_usd": "1"}, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert money.manager.get(f"/caps/{asked[1]}").json()["limit_usd"] == "1.05"


def test_approving_nothing_is_refused(money: MoneyApi, asked: tuple[str, str, str]) -> None:
    answer = money.approver.post(f"/approvals/{asked[2]}/approve", {"amount_usd": "0"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_amount")


@pytest.mark.parametrize(("default", "state"), [("decline", "wrapping_up"), ("approve", "active")])
def test_the_deadline_decides_by_the_projects_default(
    money: MoneyApi, project: Project, clock: Clock, default: str, state: str
) -> None:
    project.approval_default, project.approval_minutes = default, 10
    project.save()
    session = money.open_session()
    money.cap("0.05", session=session)
    money.hold(session, "0.06")
    clock.advance(minutes=9)
    decide_overdue_approvals()
    assert money.state(session) == "paused"
    clock.advance(minutes=2)
    decide_overdue_approvals()
    assert money.state(session) == state
    assert money.agent.get("/approvals").json()["items"][0]["decided_by"] == "system"
    if default == "approve":
        assert money.hold(session, "0.06").status_code == 201


def test_a_decision_leaves_an_audit_row(money: MoneyApi, asked: tuple[str, str, str]) -> None:
    money.approver.post(f"/approvals/{asked[2]}/approve", {"amount_usd": "0.5"})
    row = AuditEvent.objects.get(action="approval.approved")
    assert (row.subject_id, row.after) == (asked[2], {"cap": asked[1], "added_usd": "0.5"})
    assert row.actor.startswith("key:ctxb_")


def test_another_projects_approval_is_not_found(
    money: MoneyApi, asked: tuple[str, str, str], other_project: Project
) -> None:
    stranger = Api(key=approve_key(other_project, username="eve"))
    path = f"/approvals/{asked[2]}"
    answers = [
        stranger.get(path),
        stranger.post(f"{path}/approve", {"amount_usd": "1"}),
        stranger.post(f"{path}/decline"),
    ]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert stranger.get("/approvals").json()["items"] == []


def test_webhooks_hear_of_the_question_and_of_the_answer(money: MoneyApi, project: Project) -> None:
    register_webhook(project=project, url="https://93.184.215.14/x", events=[], actor="system")
    session = money.open_session()
    money.cap("0.05", session=session)
    approval = money.hold(session, "0.06").json()["approval"]
    money.approver.post(f"/approvals/{approval}/approve", {"amount_usd": "1"})
    told = WebhookDelivery.objects.order_by("id").values_list("kind", flat=True)
    assert sorted(told) == ["APPROVED", "COST_LIMIT", "INPUT_REQUESTED"]


@pytest.mark.django_db(transaction=True)
def test_waiting_returns_as_soon_as_somebody_decides(money: MoneyApi, asked: tuple[str, str, str]) -> None:
    path = f"/approvals/{asked[2]}"
    decider = threading.Timer(0.3, lambda: decide_and_close(money, path))
    started = time.monotonic()
    decider.start()
    body = money.agent.get(f"{path}?wait=20").json()
    decider.join()
    assert body["state"] == "declined"
    assert time.monotonic() - started < 10
    assert money.agent.get(f"{path}?wait=26").status_code == 422


def decide_and_close(money: MoneyApi, path: str) -> None:
    money.approver.post(f"{path}/decline")
    connection.close()
