"""The ledger: usage is recorded once, corrections are rows, rows never change."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from budgets.core.cost import Price
from budgets.core.usage import TokenUsage
from budgets.models import Balance, LedgerEntry
from budgets.services.ledger import record_usage
from budgets.triggers import create_triggers, drop_triggers
from teams.models import Project
from tests.conftest import Clock
from tests.money import CENT, admitted, balance_of, books_balance, cap_on, settle, spender_of, void

__all__ = ["books_balance"]

# 30 and 60 USD a million tokens.
PRICE = Price(price_id="test", input_pico=30_000_000, output_pico=60_000_000)


def report(project: Project, output: int, response_id: str | None = None, **options: Any) -> LedgerEntry:
    given: dict[str, Any] = {"price": PRICE, "occurred_at": datetime(2026, 1, 1, tzinfo=UTC), **options}
    return record_usage(
        project_id=project.pk,
        session_id="sess_1",
        key_id="key_1",
        model="gpt-4",
        usage=TokenUsage(input_tokens=10, output_tokens=output),
        response_id=response_id,
        **given,
    ).entry


def spent() -> int:
    return sum(LedgerEntry.objects.exclude(cost_nano=None).values_list("cost_nano", flat=True))


def test_usage_without_a_hold_fills_the_balances(project: Project) -> None:
    cap = cap_on(spender_of(project), "session", CENT)
    entry = report(project, 100)
    assert entry.cost_nano == 10 * 30_000 + 100 * 60_000
    assert balance_of(cap) == (entry.cost_nano, 0)
    assert entry.price_id == "test"


def test_unpriced_usage_is_recorded_without_a_cost(project: Project) -> None:
    cap = cap_on(spender_of(project), "session", CENT)
    entry = report(project, 100, price=None)
    assert entry.cost_nano is None
    assert balance_of(cap) == (0, 0)


def test_the_last_report_of_a_response_wins_by_correction(project: Project) -> None:
    cap = cap_on(spender_of(project), "session", CENT)
    first = report(project, 1, "resp_1")
    last = report(project, 100, "resp_1")
    correction = LedgerEntry.objects.get(kind="correction")
    assert (correction.corrects_id, correction.cost_nano) == (first.pk, -(first.cost_nano or 0))
    assert correction.output_tokens == -1
    assert spent() == last.cost_nano == balance_of(cap)[0]


def test_the_same_report_again_writes_nothing(project: Project) -> None:
    assert report(project, 5, "resp_1").pk == report(project, 5, "resp_1").pk
    assert LedgerEntry.objects.count() == 1


def test_a_correction_counts_in_the_window_of_what_it_corrects(project: Project, clock: Clock) -> None:
    cap = cap_on(spender_of(project), "session", CENT, period="day")
    report(project, 1, "resp_1")
    clock.advance(days=1)
    last = report(project, 100, "resp_1")
    assert Balance.objects.filter(cap=cap).count() == 1
    assert balance_of(cap) == (last.cost_nano, 0)


def test_a_report_that_names_an_open_hold_settles_it(project: Project) -> None:
    cap = cap_on(spender_of(project), "session", CENT)
    hold = admitted(spender_of(project), CENT)
    entry = report(project, 100, hold_id=hold.pk)
    hold.refresh_from_db()
    assert (entry.kind, hold.state, hold.cost_nano) == ("settle", "settled", entry.cost_nano)
    assert balance_of(cap) == (entry.cost_nano, 0)


def test_a_report_that_names_a_settled_hold_counts_once_and_keeps_a_stated_cost(project: Project) -> None:
    cap = cap_on(spender_of(project), "session", CENT)
    hold = settle(admitted(spender_of(project), CENT), 777)
    entry = report(project, 100, hold_id=hold.pk)
    assert (entry.cost_nano, entry.output_tokens) == (777, 100)
    assert spent() == balance_of(cap)[0] == 777


def test_a_report_that_names_a_voided_hold_is_recorded_all_the_same(project: Project) -> None:
    hold = admitted(spender_of(project), CENT)
    void(hold)
    assert report(project, 100, hold_id=hold.pk).kind == "usage"


def test_late_and_out_of_order_reports_are_recorded(project: Project) -> None:
    newer = report(project, 1, occurred_at=datetime(2026, 5, 1, tzinfo=UTC))
    older = report(project, 1, occurred_at=datetime(2020, 5, 1, tzinfo=UTC))
    assert spent() == (newer.cost_nano or 0) + (older.cost_nano or 0)


@pytest.mark.parametrize("change", ["update", "delete"])
def test_the_database_refuses_to_change_a_row(project: Project, change: str) -> None:
    report(project, 1)
    rows = LedgerEntry.objects.all()
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        rows.update(cost_nano=0) if change == "update" else rows._raw_delete(rows.db)
    assert spent() > 0


def test_a_missing_trigger_fails_the_system_check_and_is_made_again(db: None) -> None:
    assert run_checks(tags=["database"], databases=["default"]) == []
    drop_triggers(connection)
    found = run_checks(tags=["database"], databases=["default"])
    assert {message.id for message in found} == {"ctxbudget.E101"}
    create_triggers(connection)
    assert run_checks(tags=["database"], databases=["default"]) == []


def test_verify_ledger_says_zero_differences(project: Project) -> None:
    cap_on(spender_of(project), "session", CENT)
    report(project, 1, "resp_1")
    report(project, 2, "resp_1")
    output = StringIO()
    call_command("verify_ledger", stdout=output)
    assert output.getvalue().startswith("0 differences")


def test_verify_ledger_finds_a_balance_that_was_tampered_with(project: Project) -> None:
    cap = cap_on(spender_of(project), "session", CENT)
    report(project, 1)
    Balance.objects.filter(cap=cap).update(settled_nano=1)
    output = StringIO()
    with pytest.raises(CommandError, match="1 differences"):
        call_command("verify_ledger", stdout=output)
    assert "recorded 1, computed 360000" in output.getvalue()
    Balance.objects.filter(cap=cap).update(settled_nano=360_000)
