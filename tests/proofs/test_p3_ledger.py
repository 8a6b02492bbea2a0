"""P3: ledger rows never change, by whatever road, and every balance is the sum of its entries."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from budgets.models import LedgerEntry
from budgets.triggers import TABLE, missing_triggers
from teams.models import Project
from tests.money import CENT, admitted, books_balance, cap_on, settle, spender_of

__all__ = ["books_balance"]

ROADS = [
    f"UPDATE {TABLE} SET cost_nano = 0",
    f"UPDATE {TABLE} SET cost_nano = cost_nano",  # even a change that changes nothing
    f"UPDATE {TABLE} SET created_at = created_at WHERE id > 0",
    f"DELETE FROM {TABLE}",
    f"DELETE FROM {TABLE} WHERE cost_nano >= 0",
]


def spend(project: Project) -> int:
    cap_on(spender_of(project), "project", 100 * CENT)
    settle(admitted(spender_of(project), 3 * CENT), 3 * CENT)
    return LedgerEntry.objects.count()


@pytest.mark.parametrize("statement", ROADS)
def test_the_database_itself_refuses_every_change(project: Project, statement: str) -> None:
    before = spend(project)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        _execute(statement)
    assert LedgerEntry.objects.filter(cost_nano=3 * CENT).count() == before


@pytest.mark.django_db(transaction=True)
def test_postgres_refuses_to_truncate_too(project: Project) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no TRUNCATE.")
    spend(project)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        _execute(f"TRUNCATE {TABLE} CASCADE")


@pytest.mark.django_db(transaction=True)
def test_emptying_the_database_works_and_protects_it_again(project: Project) -> None:
    spend(project)
    call_command("flush", interactive=False, verbosity=0)
    assert LedgerEntry.objects.count() == 0
    assert missing_triggers(connection) == []


@pytest.mark.django_db(transaction=True)
def test_migrating_makes_a_lost_trigger_again(project: Project) -> None:
    with connection.cursor() as cursor:
        place = f" ON {TABLE}" if connection.vendor == "postgresql" else ""
        name = "ledger_keeps_rows" if connection.vendor == "postgresql" else "ledger_keeps_update"
        cursor.execute(f"DROP TRIGGER {name}{place}")
    assert missing_triggers(connection) == [name]
    call_command("migrate", verbosity=0, skip_checks=True)
    assert missing_triggers(connection) == []


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
