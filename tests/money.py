"""What money tests share: a spender, short ways to cap, reserve and settle, and the check of the books."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from budgets.core.caps import Refusal
from budgets.models import Cap, Hold, Scope
from budgets.services import holds
from budgets.services.admission_sql import enter
from budgets.services.audit import Author
from budgets.services.caps import CapTerms, create_cap
from budgets.services.holds import Actual, Admission
from budgets.services.pricing import estimate_cost
from budgets.services.reconcile import differences
from budgets.services.scopes import Spender, model_scope_id
from teams.models import Project

CENT = 10**7
DOLLAR = 10**9
MODEL = "gpt-4"
TESTER = Author(actor="user:tester")


@pytest.fixture(autouse=True)
def books_balance(request: pytest.FixtureRequest) -> Iterator[None]:
    """After every test of its module: balances, holds and ledger agree to the nano-dollar."""
    if not {"db", "transactional_db"} & set(request.fixturenames):
        yield
        return
    # Asked for here, so that the database is still there when the test is over.
    request.getfixturevalue("transactional_db" if "transactional_db" in request.fixturenames else "db")
    yield
    assert differences() == []


def spender_of(
    project: Project, *, session: str = "sess_1", key: str = "key_1", model: str = MODEL
) -> Spender:
    return Spender(
        team_id=project.team_id, project_id=project.pk, session_id=session, key_id=key, model=model
    )


def cap_on(spender: Spender, scope: str, limit_nano: int, *, period: str = "total", **terms: Any) -> Cap:
    ids = {
        Scope.TEAM: spender.team_id,
        Scope.PROJECT: spender.project_id,
        Scope.MODEL: model_scope_id(spender.project_id, spender.model),
        Scope.KEY: spender.key_id,
        Scope.SESSION: spender.session_id,
    }
    given = CapTerms(
        scope=scope,
        scope_id=ids[Scope(scope)],
        period=period,
        limit_nano=limit_nano,
        **{"wrap_up_reserve_nano": 0, **terms},
    )
    return create_cap(
        team_id=spender.team_id,
        project_id="" if scope == Scope.TEAM else spender.project_id,
        terms=given,
        author=TESTER,
    )


@transaction.atomic
def reserve(spender: Spender, amount_nano: int, **options: Any) -> Admission | Refusal:
    account = enter(spender.project_id)
    return holds.reserve(account=account, spender=spender, estimate=estimate_cost(amount_nano), **options)


def admitted(spender: Spender, amount_nano: int, **options: Any) -> Hold:
    answer = reserve(spender, amount_nano, **options)
    assert isinstance(answer, Admission), answer
    return answer.hold


def refused(spender: Spender, amount_nano: int, **options: Any) -> Refusal:
    answer = reserve(spender, amount_nano, **options)
    assert isinstance(answer, Refusal), answer
    return answer


def settle(hold: Hold, cost_nano: int, **actual: Any) -> Hold:
    return holds.settle(
        project_id=hold.project_id, hold_id=hold.pk, actual=Actual(cost_nano=cost_nano, **actual)
    ).hold


def void(hold: Hold) -> Hold:
    return holds.void(project_id=hold.project_id, hold_id=hold.pk)


def balance_of(cap: Cap) -> tuple[int, int]:
    """Settled and reserved of its newest window."""
    row = cap.balances.order_by("-id").first()
    assert row is not None
    return row.settled_nano, row.reserved_nano
