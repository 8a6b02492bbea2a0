"""P4: a hold resolves once: settled, voided or expired; nothing leaks, whatever the order of events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from budgets.core.cost import Price
from budgets.core.usage import TokenUsage
from budgets.errors import HoldResolved
from budgets.models import Balance, Hold
from budgets.services import caps, holds
from budgets.services.holds import Admission
from budgets.services.ledger import record_usage
from budgets.services.reconcile import differences
from budgets.services.scopes import Spender
from kernel import clock
from teams.services import ensure_project
from tests.money import TESTER, cap_on, reserve, settle, void
from tests.proofs.racing import FULL

EXAMPLES, STEPS = (500, 40) if FULL else (15, 25)
LIMIT = 1000
PRICE = Price(price_id="p", input_pico=1000, output_pico=1000)  # one nano-dollar a token
amounts = st.integers(0, 400)
sessions = st.sampled_from(["sess_a", "sess_b"])


class HoldsMachine(RuleBasedStateMachine):
    """The model is the life of each hold in a dictionary; the product is the database."""

    placed = Bundle("placed")

    def __init__(self) -> None:
        super().__init__()
        self.undo = transaction.atomic()
        self.undo.__enter__()
        self.offset = timedelta(0)
        self.states: dict[str, str] = {}
        self.expiry: dict[str, datetime] = {}
        self.responses = count()
        self.project = ensure_project(team_name="Machine", project_name="m")

    def teardown(self) -> None:
        clock.set_test_offset(timedelta(0))
        transaction.set_rollback(True)
        self.undo.__exit__(None, None, None)

    def spender(self, session: str) -> Spender:
        return Spender(
            team_id=self.project.team_id,
            project_id=self.project.pk,
            session_id=session,
            key_id="key_1",
            model="m",
        )

    @initialize()
    def make_caps(self) -> None:
        cap_on(self.spender("sess_a"), "session", LIMIT, wrap_up_reserve_nano=100)
        cap_on(self.spender("sess_a"), "project", 2 * LIMIT, period="hour")

    @rule(target=placed, session=sessions, amount=amounts, minutes=st.integers(1, 90), wrap_up=st.booleans())
    def place(self, session: str, amount: int, minutes: int, wrap_up: bool) -> Any:
        answer = reserve(self.spender(session), amount, ttl=timedelta(minutes=minutes), wrap_up=wrap_up)
        self._notice_expired()
        if not isinstance(answer, Admission):
            return None
        self.states[answer.hold.pk] = "open"
        self.expiry[answer.hold.pk] = answer.hold.expires_at
        return answer.hold

    @rule(hold=placed, cost=amounts)
    def settle_it(self, hold: Hold | None, cost: int) -> None:
        if hold is None:
            return
        if self.states[hold.pk] == "voided":
            with pytest.raises(HoldResolved), transaction.atomic():
                settle(hold, cost)
            return
        before = Hold.objects.get(pk=hold.pk)
        after = settle(hold, cost)
        if before.state == "settled":
            assert (after.cost_nano, after.resolved_at) == (before.cost_nano, before.resolved_at)
        else:
            assert (after.cost_nano, after.late) == (cost, before.state == "expired")
        self.states[hold.pk] = "settled"

    @rule(hold=placed)
    def void_it(self, hold: Hold | None) -> None:
        if hold is None:
            return
        if self.states[hold.pk] == "settled":
            with pytest.raises(HoldResolved), transaction.atomic():
                void(hold)
            return
        void(hold)
        if self.states[hold.pk] == "open":
            self.states[hold.pk] = "voided"

    @rule(hold=placed, minutes=st.integers(1, 90))
    def extend_it(self, hold: Hold | None, minutes: int) -> None:
        if hold is None:
            return
        in_time = self.expiry[hold.pk] > clock.read_now()
        if self.states[hold.pk] == "open" and in_time:
            ttl = timedelta(minutes=minutes)
            extended = holds.extend(project_id=self.project.pk, hold_id=hold.pk, ttl=ttl)
            self.expiry[hold.pk] = extended.expires_at
            return
        with pytest.raises(HoldResolved), transaction.atomic():
            holds.extend(project_id=self.project.pk, hold_id=hold.pk, ttl=timedelta(minutes=minutes))

    @rule(hold=placed, tokens=amounts)
    def report_with_hold(self, hold: Hold | None, tokens: int) -> None:
        if hold is None:
            return
        self._report(hold.session_id, tokens, hold_id=hold.pk)
        if self.states[hold.pk] in ("open", "expired"):
            self.states[hold.pk] = "settled"

    @rule(session=sessions, tokens=amounts, repeated=st.booleans())
    def report_without_hold(self, session: str, tokens: int, repeated: bool) -> None:
        response = f"resp_{next(self.responses)}"
        self._report(session, tokens, response_id=response)
        if repeated:
            self._report(session, tokens + 1, response_id=response)

    @rule(minutes=st.integers(1, 60), sweep=st.booleans())
    def time_passes(self, minutes: int, sweep: bool) -> None:
        self.offset += timedelta(minutes=minutes)
        clock.set_test_offset(self.offset)
        if sweep:
            holds.expire_due_holds()
            self._notice_expired()
            assert not Hold.objects.filter(state="open", expires_at__lte=clock.read_now()).exists()

    @rule(session=sessions, period=st.sampled_from(["total", "hour", "day"]))
    def cap_in_the_middle(self, session: str, period: str) -> None:
        cap = cap_on(self.spender(session), "session", 5 * LIMIT, period=period)
        caps.raise_cap(cap=cap, amount_nano=7, author=TESTER)

    @invariant()
    def nothing_leaks(self) -> None:
        assert differences() == []
        assert not Balance.objects.filter(reserved_nano__lt=0).exists()

    @invariant()
    def every_hold_is_where_the_model_says(self) -> None:
        assert dict(Hold.objects.values_list("pk", "state")) == self.states

    def _report(self, session: str, tokens: int, **ids: str) -> None:
        record_usage(
            project_id=self.project.pk,
            session_id=session,
            key_id="key_1",
            model="m",
            usage=TokenUsage(output_tokens=tokens),
            price=PRICE,
            occurred_at=datetime(2026, 1, 1, tzinfo=UTC),
            **{"response_id": None, **ids},
        )

    def _notice_expired(self) -> None:
        """Only holds whose time was over may have been expired."""
        now = clock.read_now()
        for pk in Hold.objects.filter(state="expired").values_list("pk", flat=True):
            assert self.states[pk] in ("open", "expired")
            assert self.expiry[pk] <= now
            self.states[pk] = "expired"


def test_a_hold_resolves_once_and_nothing_leaks(db: None) -> None:
    profile = settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(HoldsMachine, settings=profile)


def test_the_proof_catches_a_void_that_forgets_to_release(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: a void that ends the hold and leaves its money reserved."""
    monkeypatch.setattr(holds, "_release", lambda amounts: None)
    project = ensure_project(team_name="Machine", project_name="m")
    spender = Spender(team_id=project.team_id, project_id=project.pk, session_id="s", key_id="k", model="m")
    cap_on(spender, "session", LIMIT)
    answer = reserve(spender, 10)
    assert isinstance(answer, Admission)
    void(answer.hold)
    assert len(differences()) == 1
