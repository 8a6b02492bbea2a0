"""The ledger of usage: what agents report is recorded once, however often and in whatever order it comes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from budgets.core.caps import Limit
from budgets.core.cost import Price, cost_nano_usd
from budgets.core.usage import TokenUsage
from budgets.models import Hold, LedgerEntry
from budgets.services import admission_sql as sql
from budgets.services.entries import standing_entry
from budgets.services.holds import Actual, settle
from budgets.services.postings import Posting, post, reverse
from budgets.services.pricing import price_under_policy
from budgets.services.scopes import Spender


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The entry that now stands for a call; `limits` are its caps after it, None where they were not read."""

    entry: LedgerEntry
    limits: tuple[Limit, ...] | None = None


@transaction.atomic(savepoint=False)
def record_usage(
    *,
    project_id: str,
    session_id: str,
    key_id: str,
    model: str,
    usage: TokenUsage,
    price: Price | None,
    occurred_at: datetime,
    response_id: str | None,
    hold_id: str | None = None,
    kind: str = LedgerEntry.Kind.USAGE,
) -> Recorded:
    """A report with a known response id replaces the one before."""
    account = sql.enter(project_id)
    if hold_id and _settles(project_id, session_id, hold_id):
        actual = Actual(usage=usage, response_id=response_id or "", occurred_at=occurred_at)
        settled = settle(project_id=project_id, hold_id=hold_id, actual=actual).entry
        if settled is not None:
            return Recorded(entry=settled)
    price = price_under_policy(account, price)
    posting = Posting(
        spender=Spender(
            team_id=account.team_id,
            project_id=project_id,
            session_id=session_id,
            key_id=key_id,
            model=model,
        ),
        kind=kind,
        usage=usage,
        cost_nano=cost_nano_usd(usage, price),
        price_id=price.price_id if price else "",
        source="reported",
        occurred_at=occurred_at,
        counted_at=account.now,
        response_id=response_id or "",
    )
    known = standing_entry(session_id=session_id, response_id=response_id or "", hold_id=hold_id or "")
    if known is not None:
        return Recorded(entry=_replace(account, known, posting))
    posted = post(account, posting)
    return Recorded(entry=posted.entry, limits=posted.limits if posting.cost_nano else None)


def _settles(project_id: str, session_id: str, hold_id: str) -> bool:
    """A report that names a hold of its session, not resolved by its agent yet, settles it."""
    unresolved = (Hold.State.OPEN, Hold.State.EXPIRED)
    rows = Hold.objects.of_project(project_id).filter(pk=hold_id, session_id=session_id)
    return rows.filter(state__in=unresolved).exists()


def _replace(account: sql.Account, known: LedgerEntry, posting: Posting) -> LedgerEntry:
    """The last report wins, in the window of the first; a cost that the agent stated itself stays."""
    stated = known.kind == LedgerEntry.Kind.SETTLE and not known.price_id and known.cost_nano is not None
    posting = replace(
        posting,
        kind=known.kind,
        cost_nano=known.cost_nano if stated else posting.cost_nano,
        price_id="" if stated else posting.price_id,
        counted_at=known.counted_at,
        hold_id=known.hold_id,
        response_id=posting.response_id or known.response_id,
    )
    if known.usage == posting.usage and known.cost_nano == posting.cost_nano:
        return known
    reverse(account, known)
    return post(account, posting).entry
