"""Recomputes every balance from the ledger and the open holds, and says where they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from budgets.core.periods import Window
from budgets.models import Balance, Hold, LedgerEntry
from budgets.services.admission_sql import ledger_sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something recorded that the ledger does not bear out."""

    subject: str
    recorded: int | None
    computed: int | None

    def __str__(self) -> str:
        return f"{self.subject}: recorded {self.recorded}, computed {self.computed}"


@transaction.atomic
def differences() -> list[Difference]:
    """Amounts are nano-USD; a cap that no longer holds is no longer counted against."""
    return [*_settled(), *_reserved(), *_corrections(), *_settled_holds()]


def _settled() -> Iterator[Difference]:
    for balance in Balance.objects.filter(cap__active=True).select_related("cap").order_by("id"):
        window = Window(key=balance.window_key, starts_at=balance.starts_at, ends_at=balance.ends_at)
        computed = ledger_sum(balance.cap.scope, balance.cap.scope_id, window)
        if computed != balance.settled_nano:
            yield Difference(
                subject=f"settled of {balance}", recorded=balance.settled_nano, computed=computed
            )


def _reserved() -> Iterator[Difference]:
    held: dict[int, int] = defaultdict(int)
    for hold in Hold.objects.filter(state=Hold.State.OPEN).only("balance_ids", "amount_nano"):
        for balance_id in hold.balance_ids:
            held[balance_id] += hold.amount_nano
    for balance in Balance.objects.order_by("id"):
        if held[balance.pk] != balance.reserved_nano:
            yield Difference(
                subject=f"reserved of {balance}", recorded=balance.reserved_nano, computed=held[balance.pk]
            )


def _corrections() -> Iterator[Difference]:
    for row in LedgerEntry.objects.filter(kind=LedgerEntry.Kind.CORRECTION).select_related("corrects"):
        taken_back = row.corrects.cost_nano if row.corrects else None
        expected = None if taken_back is None else -taken_back
        if row.cost_nano != expected:
            yield Difference(subject=f"correction {row.pk}", recorded=row.cost_nano, computed=expected)


def _settled_holds() -> Iterator[Difference]:
    """Every settled hold stands in the ledger exactly once, net of corrections."""
    standing: dict[str, int] = defaultdict(int)
    rows = LedgerEntry.objects.exclude(hold_id="").values_list("hold_id", "kind")
    for hold_id, kind in rows.iterator():
        standing[hold_id] += -1 if kind == LedgerEntry.Kind.CORRECTION else 1
    states = dict(Hold.objects.values_list("pk", "state"))
    for hold_id, state in states.items():
        expected = 1 if state == Hold.State.SETTLED else 0
        if standing[hold_id] != expected:
            yield Difference(
                subject=f"entries of hold {hold_id}", recorded=standing[hold_id], computed=expected
            )
