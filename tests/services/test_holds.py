"""Holds: reserve, settle, void, extend, expire."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from budgets.core.usage import TokenUsage
from budgets.errors import HoldResolved
from budgets.models import Hold, LedgerEntry
from budgets.services import holds
from budgets.services.holds import Actual, Admission
from kernel.errors import NotFound
from teams.models import Project
from tests.conftest import Clock
from tests.money import (
    CENT,
    admitted,
    balance_of,
    books_balance,
    cap_on,
    refused,
    reserve,
    settle,
    spender_of,
    void,
)

__all__ = ["books_balance"]


def test_it_admits_without_any_cap(project: Project) -> None:
    answer = reserve(spender_of(project), CENT)
    assert isinstance(answer, Admission)
    assert answer.remaining_nano is None


def test_it_reserves_under_every_cap_of_the_spender(project: Project) -> None:
    spender = spender_of(project)
    caps = [cap_on(spender, scope, 10 * CENT) for scope in ("team", "project", "model", "key", "session")]
    answer = reserve(spender, 4 * CENT)
    assert isinstance(answer, Admission)
    assert answer.remaining_nano == 6 * CENT
    assert [balance_of(cap) for cap in caps] == [(0, 4 * CENT)] * 5


def test_it_leaves_no_trace_under_any_cap_when_one_refuses(project: Project) -> None:
    spender = spender_of(project)
    wide, narrow = cap_on(spender, "project", 10 * CENT), cap_on(spender, "session", 3 * CENT)
    refusal = refused(spender, 4 * CENT)
    assert (refusal.limit.cap_id, refusal.busy) == (narrow.pk, False)
    assert balance_of(wide) == balance_of(narrow) == (0, 0)


def test_it_counts_only_the_scopes_of_the_spender(project: Project, other_project: Project) -> None:
    cap_on(spender_of(project, session="sess_2"), "session", CENT)
    cap_on(spender_of(project, key="key_2"), "key", CENT)
    cap_on(spender_of(project, model="claude-3-opus"), "model", CENT)
    cap_on(spender_of(other_project), "project", CENT)
    cap_on(spender_of(other_project), "team", CENT)
    admitted(spender_of(project), 2 * CENT)


def test_it_says_busy_when_only_open_holds_fill_the_cap(project: Project) -> None:
    spender = spender_of(project)
    cap_on(spender, "session", 5 * CENT)
    admitted(spender, 4 * CENT)
    assert refused(spender, 2 * CENT).busy


def test_it_says_reached_when_settled_spend_fills_the_cap(project: Project) -> None:
    spender = spender_of(project)
    cap_on(spender, "session", 5 * CENT)
    settle(admitted(spender, 4 * CENT), 4 * CENT)
    assert not refused(spender, 2 * CENT).busy


def test_it_names_the_strictest_of_the_caps_that_refuse(project: Project) -> None:
    spender = spender_of(project)
    cap_on(spender, "project", 3 * CENT)
    strictest = cap_on(spender, "session", 1 * CENT)
    cap_on(spender, "key", 2 * CENT)
    assert refused(spender, 4 * CENT).limit.cap_id == strictest.pk


def test_it_names_a_cap_filled_by_spend_before_one_filled_by_holds(project: Project) -> None:
    spender, sibling = spender_of(project), spender_of(project, session="sess_2")
    cap_on(spender, "project", 5 * CENT)
    spent = cap_on(spender, "session", 3 * CENT)
    settle(admitted(spender, 2 * CENT), 2 * CENT)
    admitted(sibling, 3 * CENT)
    refusal = refused(spender, 2 * CENT)
    assert (refusal.limit.cap_id, refusal.busy) == (spent.pk, False)


def test_it_keeps_the_wrap_up_reserve_for_the_wrap_up_turn(project: Project) -> None:
    spender = spender_of(project)
    cap_on(spender, "session", 100 * CENT, wrap_up_reserve_nano=5 * CENT)
    settle(admitted(spender, 95 * CENT), 95 * CENT)
    assert not refused(spender, 1).busy
    settle(admitted(spender, 5 * CENT, wrap_up=True), 5 * CENT)
    assert not refused(spender, 1, wrap_up=True).busy


def test_a_dry_run_reserves_nothing(project: Project) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "session", 5 * CENT)
    answer = reserve(spender, 5 * CENT, dry_run=True)
    assert isinstance(answer, Admission) and answer.remaining_nano == 0
    assert balance_of(cap) == (0, 0)
    assert not Hold.objects.exists()


def test_settling_moves_the_amount_from_reserved_to_settled(project: Project) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "session", 5 * CENT)
    hold = settle(admitted(spender, 3 * CENT), 2 * CENT)
    assert balance_of(cap) == (2 * CENT, 0)
    assert (hold.state, hold.cost_nano, hold.overrun_nano) == ("settled", 2 * CENT, 0)
    entry = LedgerEntry.objects.get()
    assert (entry.kind, entry.cost_nano, entry.hold_id) == ("settle", 2 * CENT, hold.pk)


def test_settling_prices_the_usage_and_keeps_the_price_id(project: Project) -> None:
    hold = admitted(spender_of(project), CENT)
    usage = TokenUsage(input_tokens=1000, output_tokens=100)
    settled = holds.settle(project_id=project.pk, hold_id=hold.pk, actual=Actual(usage=usage)).hold
    # gpt-4: 30 and 60 USD a million tokens.
    assert settled.cost_nano == 1000 * 30_000 + 100 * 60_000
    assert "gpt-4" in LedgerEntry.objects.get().price_id


def test_settling_twice_gives_the_first_answer(project: Project) -> None:
    hold = admitted(spender_of(project), CENT)
    first, second = settle(hold, 5), settle(hold, 7)
    assert (second.cost_nano, second.resolved_at) == (first.cost_nano, first.resolved_at)
    assert LedgerEntry.objects.count() == 1


def test_settling_above_the_hold_is_recorded_in_full(project: Project) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "session", 5 * CENT)
    hold = settle(admitted(spender, 4 * CENT), 9 * CENT)
    assert hold.overrun_nano == 5 * CENT
    assert balance_of(cap) == (9 * CENT, 0)


def test_voiding_gives_the_money_back(project: Project) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "session", 5 * CENT)
    hold = admitted(spender, 5 * CENT)
    assert void(hold).state == void(hold).state == "voided"
    assert balance_of(cap) == (0, 0)


def test_a_voided_hold_cannot_be_settled_nor_a_settled_one_voided(project: Project) -> None:
    voided, settled = admitted(spender_of(project), CENT), admitted(spender_of(project), CENT)
    void(voided)
    settle(settled, CENT)
    with pytest.raises(HoldResolved), transaction.atomic():
        settle(voided, CENT)
    with pytest.raises(HoldResolved), transaction.atomic():
        void(settled)


def test_a_hold_past_its_time_is_expired_by_the_sweep(project: Project, clock: Clock) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "session", 5 * CENT)
    hold = admitted(spender, 5 * CENT, ttl=timedelta(seconds=30))
    holds.expire_due_holds()
    assert balance_of(cap) == (0, 5 * CENT)
    clock.advance(seconds=31)
    holds.expire_due_holds()
    hold.refresh_from_db()
    assert (hold.state, balance_of(cap)) == ("expired", (0, 0))


def test_a_reserve_frees_holds_past_their_time_before_it_is_refused(project: Project, clock: Clock) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "session", 5 * CENT)
    admitted(spender, 5 * CENT, ttl=timedelta(seconds=30))
    clock.advance(seconds=31)
    admitted(spender, 4 * CENT)
    assert balance_of(cap) == (0, 4 * CENT)


def test_a_late_settle_is_still_recorded(project: Project, clock: Clock) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "session", 5 * CENT)
    hold = admitted(spender, 5 * CENT, ttl=timedelta(seconds=30))
    clock.advance(seconds=31)
    holds.expire_due_holds()
    settled = settle(hold, 3 * CENT)
    assert (settled.state, settled.late) == ("settled", True)
    assert balance_of(cap) == (3 * CENT, 0)


def test_extending_never_shortens_a_hold(project: Project) -> None:
    hold = admitted(spender_of(project), CENT)
    before = hold.expires_at
    holds.extend(project_id=project.pk, hold_id=hold.pk, ttl=timedelta(seconds=1))
    hold.refresh_from_db()
    assert hold.expires_at == before


def test_extending_keeps_a_hold_open_longer(project: Project, clock: Clock) -> None:
    hold = admitted(spender_of(project), CENT, ttl=timedelta(seconds=30))
    clock.advance(seconds=20)
    holds.extend(project_id=project.pk, hold_id=hold.pk, ttl=timedelta(seconds=30))
    clock.advance(seconds=20)
    holds.expire_due_holds()
    hold.refresh_from_db()
    assert hold.state == "open"
    clock.advance(seconds=20)
    with pytest.raises(HoldResolved):
        holds.extend(project_id=project.pk, hold_id=hold.pk, ttl=timedelta(seconds=30))


def test_another_projects_hold_is_not_found(project: Project, other_project: Project) -> None:
    hold = admitted(spender_of(project), CENT)
    for act in (holds.void, lambda **ids: holds.settle(**ids, actual=Actual(cost_nano=1))):
        with pytest.raises(NotFound), transaction.atomic():
            act(project_id=other_project.pk, hold_id=hold.pk)
