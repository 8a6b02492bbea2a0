"""Writing the ledger: every entry moves the balances of its scopes in the same transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime

from budgets.core.caps import Limit
from budgets.core.usage import TokenUsage
from budgets.errors import SumOverflow
from budgets.models import LedgerEntry
from budgets.services import admission_sql as sql
from budgets.services.scopes import Spender

COUNTERS = tuple(counter.name for counter in fields(TokenUsage))


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """An entry before it is written; `counted_at` decides its windows, `occurred_at` is the agent's word."""

    spender: Spender
    kind: str
    usage: TokenUsage
    cost_nano: int | None
    price_id: str
    source: str
    occurred_at: datetime
    counted_at: datetime
    hold_id: str = ""
    response_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """The entry, and the caps that it was counted against as they stand after it."""

    entry: LedgerEntry
    limits: tuple[Limit, ...]


def post(account: sql.Account, posting: Posting, *, releases: Mapping[int, int] | None = None) -> Posted:
    """Balances first, entry second: a balance that starts here must not find its own entry in the ledger."""
    limits = _move_balances(
        account, posting.spender, posting.counted_at, posting.cost_nano or 0, dict(releases or {})
    )
    counters = {name: getattr(posting.usage, name) for name in COUNTERS}
    return Posted(entry=_insert(account, posting, counters, posting.cost_nano), limits=limits)


def reverse(account: sql.Account, entry: LedgerEntry) -> LedgerEntry:
    """Takes an entry back out of the windows it was counted in, by a row of its own."""
    spender = spender_of(entry)
    _move_balances(account, spender, entry.counted_at, -(entry.cost_nano or 0), {})
    posting = Posting(
        spender=spender,
        kind=LedgerEntry.Kind.CORRECTION,
        usage=entry.usage,
        cost_nano=entry.cost_nano,
        price_id=entry.price_id,
        source=entry.source,
        occurred_at=entry.occurred_at,
        counted_at=entry.counted_at,
        hold_id=entry.hold_id,
        response_id=entry.response_id,
    )
    counters = {name: -getattr(entry, name) for name in COUNTERS}
    cost = None if entry.cost_nano is None else -entry.cost_nano
    return _insert(account, posting, counters, cost, corrects=entry)


def spender_of(row: LedgerEntry) -> Spender:
    return Spender(
        team_id=row.team_id,
        project_id=row.project_id,
        session_id=row.session_id,
        key_id=row.key_id,
        model=row.model,
    )


def _move_balances(
    account: sql.Account, spender: Spender, moment: datetime, cost_nano: int, releases: dict[int, int]
) -> tuple[Limit, ...]:
    if abs(cost_nano) > sql.MAX_NANO:
        raise SumOverflow("That cost is too large to be added up.")
    limits = sql.limits_at(spender.scopes, moment, account.zone) if cost_nano else []
    charged = {limit.balance.id: limit for limit in limits}
    after = []
    for balance_id in sorted(charged.keys() | releases.keys()):
        moved = sql.move(
            balance_id,
            release_nano=releases.get(balance_id, 0),
            settle_nano=cost_nano if balance_id in charged else 0,
        )
        if moved is None:
            raise SumOverflow("The spend of a cap would no longer fit; nothing was changed.")
        if balance_id in charged:
            after.append(replace(charged[balance_id], balance=moved))
    return tuple(after)


def _insert(
    account: sql.Account,
    posting: Posting,
    counters: Mapping[str, int],
    cost_nano: int | None,
    corrects: LedgerEntry | None = None,
) -> LedgerEntry:
    spender = posting.spender
    entry = LedgerEntry(
        team_id=spender.team_id,
        project_id=spender.project_id,
        session_id=spender.session_id,
        key_id=spender.key_id,
        model=spender.model,
        kind=posting.kind,
        cost_nano=cost_nano,
        price_id=posting.price_id,
        source=posting.source,
        hold_id=posting.hold_id,
        response_id=posting.response_id,
        corrects=corrects,
        occurred_at=posting.occurred_at,
        counted_at=posting.counted_at,
        created_at=account.now,
        **counters,
    )
    sql.insert_entry(entry)
    return entry
