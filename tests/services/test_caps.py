"""Caps: what they start from, how they change, and which crossings are told."""

from __future__ import annotations

import pytest

from budgets.models import Cap
from budgets.services import caps
from budgets.services.admission_sql import enter, limits_at
from budgets.services.caps import CapChange, Crossing, claim_crossings
from budgets.services.scopes import Spender
from kernel.errors import Invalid, PreconditionFailed
from teams.models import AuditEvent, Project
from tests.conftest import Clock
from tests.money import (
    CENT,
    TESTER,
    admitted,
    balance_of,
    books_balance,
    cap_on,
    refused,
    settle,
    spender_of,
    void,
)

__all__ = ["books_balance"]


def crossings(spender: Spender) -> list[Crossing]:
    account = enter(spender.project_id)
    return list(claim_crossings(limits_at(spender.scopes, account.now, account.zone)))


@pytest.mark.parametrize("scope", ["team", "project", "model", "key", "session"])
def test_a_new_cap_starts_from_what_was_spent_and_is_held(project: Project, scope: str) -> None:
    spender = spender_of(project)
    settle(admitted(spender, 3 * CENT), 2 * CENT)
    hold = admitted(spender, 4 * CENT)
    cap = cap_on(spender, scope, 10 * CENT)
    assert balance_of(cap) == (2 * CENT, 4 * CENT)
    settle(hold, 4 * CENT)
    assert balance_of(cap) == (6 * CENT, 0)


def test_a_new_period_cap_counts_its_own_window_only(project: Project, clock: Clock) -> None:
    spender = spender_of(project)
    settle(admitted(spender, 3 * CENT), 3 * CENT)
    old = admitted(spender, CENT)
    clock.advance(days=1)
    cap = cap_on(spender, "project", 10 * CENT, period="day")
    assert balance_of(cap) == (0, 0)
    void(old)


def test_the_reserve_is_five_percent_of_the_limit_by_default(project: Project) -> None:
    cap = cap_on(spender_of(project), "session", 100 * CENT, wrap_up_reserve_nano=None)
    assert cap.wrap_up_reserve_nano == 5 * CENT


def test_the_reserve_cannot_be_larger_than_the_limit(project: Project) -> None:
    with pytest.raises(Invalid):
        cap_on(spender_of(project), "session", CENT, wrap_up_reserve_nano=2 * CENT)


def test_a_changed_limit_holds_in_the_running_window_on_top_of_what_was_added(project: Project) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "session", 5 * CENT, period="day")
    cap = caps.raise_cap(cap=cap, amount_nano=2 * CENT, author=TESTER)
    cap = caps.change_cap(cap=cap, change=CapChange(limit_nano=6 * CENT), author=TESTER)
    assert caps.window_view(cap).limit_nano == 8 * CENT
    admitted(spender, 8 * CENT)
    assert refused(spender, 1).busy


def test_a_change_of_an_old_version_is_refused(project: Project) -> None:
    cap = cap_on(spender_of(project), "session", 5 * CENT)
    stale = Cap.objects.get(pk=cap.pk)
    caps.change_cap(cap=cap, change=CapChange(limit_nano=6 * CENT), author=TESTER)
    with pytest.raises(PreconditionFailed):
        caps.change_cap(cap=stale, change=CapChange(limit_nano=7 * CENT), author=TESTER)
    assert Cap.objects.get(pk=cap.pk).limit_nano == 6 * CENT


def test_crossings_are_given_to_one_caller_once(project: Project) -> None:
    spender = spender_of(project)
    cap_on(spender, "session", 10 * CENT)
    settle(admitted(spender, 8 * CENT), 8 * CENT)
    assert [crossing.is_limit for crossing in crossings(spender)] == [False]
    assert crossings(spender) == []
    settle(admitted(spender, 2 * CENT), 2 * CENT)
    assert [crossing.is_limit for crossing in crossings(spender)] == [True]
    assert crossings(spender) == []


def test_a_raise_lets_the_levels_be_told_again(project: Project) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "session", 10 * CENT)
    settle(admitted(spender, 10 * CENT), 10 * CENT)
    assert len(crossings(spender)) == 2
    caps.raise_cap(cap=cap, amount_nano=10 * CENT, author=TESTER)
    assert crossings(spender) == []
    settle(admitted(spender, 10 * CENT), 10 * CENT)
    assert len(crossings(spender)) == 2


def test_a_cap_on_the_team_holds_across_its_projects(project: Project) -> None:
    sibling = Project.objects.create(
        id="proj_sibling", team_id=project.team_id, name="gamma", created_at=project.created_at
    )
    cap_on(spender_of(project), "team", 5 * CENT)
    settle(admitted(spender_of(project), 3 * CENT), 3 * CENT)
    assert not refused(spender_of(sibling, session="sess_9", key="key_9"), 3 * CENT).busy


def test_a_deactivated_cap_releases_its_holds_without_counting_them(project: Project) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "session", 5 * CENT)
    hold = admitted(spender, 5 * CENT)
    caps.deactivate_cap(cap=cap, author=TESTER)
    settle(hold, 4 * CENT)
    assert balance_of(cap) == (0, 0)


def test_every_change_is_audited_with_before_and_after(project: Project) -> None:
    cap = cap_on(spender_of(project), "session", 5 * CENT)
    caps.change_cap(cap=cap, change=CapChange(limit_nano=6 * CENT), author=TESTER)
    row = AuditEvent.objects.get(action="cap.changed")
    assert (row.before["limit_usd"], row.after["limit_usd"]) == ("0.05", "0.06")
