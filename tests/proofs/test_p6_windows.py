"""P6: windows roll once, and a web process with a wrong clock changes nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from budgets.core.periods import window_at
from budgets.models import Balance
from budgets.services.admission_sql import zone_of
from budgets.services.holds import Admission
from kernel.clock import read_now
from teams.models import Project
from tests.conftest import Clock
from tests.money import CENT, books_balance, cap_on, reserve, settle, spender_of
from tests.proofs.racing import FULL, race

__all__ = ["books_balance"]

CALLERS = 200
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("period", ["hour", "day", "week", "month"] if FULL else ["day"])
def test_two_hundred_at_the_boundary_make_one_new_window(project: Project, clock: Clock, period: str) -> None:
    project.time_zone = "Asia/Kathmandu"
    project.save()
    spender = spender_of(project)
    cap = cap_on(spender, "project", 20 * CENT, period=period)
    window = window_at(period, read_now(), zone_of("Asia/Kathmandu"))
    assert window.ends_at is not None
    clock.advance(seconds=(window.ends_at - read_now()).total_seconds() + 1)
    answers = race(CALLERS, lambda number: reserve(spender, CENT))
    assert sum(isinstance(answer, Admission) for answer in answers) == 20
    assert Balance.objects.filter(cap=cap).count() == 2
    assert Balance.objects.get(cap=cap, starts_at=window.ends_at).reserved_nano == 20 * CENT


def test_a_hold_settled_after_the_boundary_counts_in_its_own_window(project: Project, clock: Clock) -> None:
    spender = spender_of(project)
    cap = cap_on(spender, "project", 20 * CENT, period="day")
    answer = reserve(spender, 5 * CENT, ttl=timedelta(days=3))
    assert isinstance(answer, Admission)
    clock.advance(days=1)
    settle(answer.hold, 4 * CENT)
    assert [row.settled_nano for row in Balance.objects.filter(cap=cap)] == [4 * CENT]
    fresh = reserve(spender, 20 * CENT)
    assert isinstance(fresh, Admission)


def test_a_skewed_process_clock_changes_no_window(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids carry this process's time; windows and expiries do not."""
    spender = spender_of(project)
    cap = cap_on(spender, "project", 20 * CENT, period="day")
    monkeypatch.setattr("kernel.ids.time.time_ns", lambda: 0)
    assert isinstance(reserve(spender, CENT), Admission)
    assert Balance.objects.filter(cap=cap).count() == 1
