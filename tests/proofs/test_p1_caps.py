"""P1: settled + reserved never passes a cap by an admission, at any interleaving, with nested scopes."""

from __future__ import annotations

import threading

import pytest
from django.db import transaction
from django.db.models import F

from budgets.models import Balance, Cap, Hold
from budgets.services.holds import Admission
from budgets.services.scopes import Spender
from sessions.models import AgentSession, Approval
from teams.models import Project
from tests.api.client import Api
from tests.api.money_calls import MoneyApi, money
from tests.money import CENT, books_balance, cap_on, reserve, settle, spender_of
from tests.proofs.racing import FULL, race

__all__ = ["books_balance", "money"]

CALLERS = 200
RUNS = 20 if FULL else 2
pytestmark = pytest.mark.django_db(transaction=True)


def nested_caps(spender: Spender) -> list[Cap]:
    """Room for 60 cents in the project's day, 50 for the key, 20 for each session."""
    return [
        cap_on(spender, "project", 60 * CENT, period="day"),
        cap_on(spender, "key", 50 * CENT),
        *(cap_on(spender_of_session(spender, number), "session", 20 * CENT) for number in range(4)),
    ]


def spender_of_session(spender: Spender, number: int) -> Spender:
    return Spender(
        team_id=spender.team_id,
        project_id=spender.project_id,
        session_id=f"sess_{number % 4}",
        key_id=spender.key_id,
        model=spender.model,
    )


def overshoot() -> int:
    """Nano-dollars beyond any cap, summed."""
    rows = Balance.objects.annotate(over=F("settled_nano") + F("reserved_nano") - F("limit_nano"))
    return sum(rows.filter(over__gt=0).values_list("over", flat=True))


@pytest.mark.parametrize("run", range(RUNS))
def test_concurrent_holds_never_pass_a_cap(project: Project, run: int) -> None:
    spender = spender_of(project)
    nested_caps(spender)
    answers = race(CALLERS, lambda number: reserve(spender_of_session(spender, number), CENT))
    # The key has room for 50, the four sessions for 80: the strictest cap is used to the last cent.
    assert sum(isinstance(answer, Admission) for answer in answers) == 50
    assert overshoot() == 0


@pytest.mark.parametrize("run", range(RUNS))
def test_holds_racing_with_settlements_never_pass_a_cap(project: Project, run: int) -> None:
    spender = spender_of(project)
    nested_caps(spender)

    def hold_then_settle(number: int) -> None:
        answer = reserve(spender_of_session(spender, number), 2 * CENT)
        if isinstance(answer, Admission):
            settle(answer.hold, CENT)

    race(CALLERS // 4, hold_then_settle)
    assert overshoot() == 0
    assert not Hold.objects.filter(state=Hold.State.OPEN).exists()


def test_the_proof_catches_a_check_before_the_write(project: Project) -> None:
    """The mutant: look whether it fits, then add. The barrier makes everybody look before anybody adds."""
    spender = spender_of(project)
    cap = cap_on(spender, "session", 5 * CENT)
    balance = Balance.objects.get(cap=cap)
    looked = threading.Barrier(10)

    def check_then_add(number: int) -> bool:
        row = Balance.objects.get(pk=balance.pk)
        fits = row.settled_nano + row.reserved_nano + CENT <= row.limit_nano
        looked.wait(timeout=30)
        if fits:
            with transaction.atomic():
                Balance.objects.filter(pk=balance.pk).update(reserved_nano=F("reserved_nano") + CENT)
        return fits

    admissions = race(10, check_then_add)
    assert sum(admissions) == 10
    assert overshoot() == 5 * CENT
    Balance.objects.filter(pk=balance.pk).update(reserved_nano=0)


def test_a_cap_created_while_money_moves_counts_all_of_it(project: Project) -> None:
    """Creating a cap races with holds and settlements: whatever comes first, nothing is missed or doubled."""
    spender = spender_of(project)

    def move_or_cap(number: int) -> None:
        if number % 10 == 0:
            cap_on(spender, "project", 1000 * CENT)
            return
        answer = reserve(spender, CENT)
        if isinstance(answer, Admission) and number % 2:
            settle(answer.hold, CENT)

    race(60, move_or_cap)
    states = set(Balance.objects.values_list("settled_nano", "reserved_nano"))
    assert states == {(30 * CENT, 24 * CENT)}


def test_many_refusals_at_once_ask_one_question_and_pause_everybody(money: MoneyApi) -> None:
    """Sessions of one project run into its cap together, half of them while a context is assembled."""
    sessions = [money.open_session() for _ in range(24)]
    money.cap("0.000001")
    key = money.agent.key

    def ask(number: int) -> int:
        path = f"/sessions/{sessions[number]}"
        if number % 2:
            return Api(key=key).post(f"{path}/holds", {"estimate": {"cost_usd": "1"}}).status_code
        return Api(key=key).post(f"{path}/context", {"max_output": 1000, "reserve": True}).status_code

    assert set(race(len(sessions), ask)) == {402}
    approval = Approval.objects.get()
    assert approval.paused_sessions == sorted(sessions)
    assert set(AgentSession.objects.values_list("state", flat=True)) == {"paused"}
    answer = money.approver.post(f"/approvals/{approval.pk}/approve", {"amount_usd": "100"})
    assert answer.status_code == 200
    assert set(AgentSession.objects.values_list("state", flat=True)) == {"active"}
