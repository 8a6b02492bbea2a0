"""Holds: money is set aside before a call and resolved exactly once after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import transaction

from budgets.core.caps import BalanceState, Limit, Refusal, refusal_of
from budgets.core.cost import cost_nano_usd
from budgets.core.usage import TokenUsage
from budgets.errors import HoldResolved
from budgets.models import Hold, LedgerEntry
from budgets.services import admission_sql as sql
from budgets.services.entries import standing_entry
from budgets.services.models import resolve_model
from budgets.services.postings import Posting, post, reverse
from budgets.services.pricing import Estimate, price_under_policy
from budgets.services.scopes import Spender
from kernel.clock import read_now
from kernel.errors import NotFound
from kernel.faults import fault
from kernel.ids import new_id
from kernel.jobs.registry import sweep
from kernel.rows import fetch_row, insert_rows

DEFAULT_TTL = timedelta(minutes=10)
_EXPIRED_PER_ROUND = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A hold and what is left under the strictest cap; None where no cap applies."""

    hold: Hold
    remaining_nano: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The settled hold, its new entry and the caps after it; neither when it was settled before."""

    hold: Hold
    entry: LedgerEntry | None = None
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Actual:
    """What a call really used: counters to be priced, or the cost itself; estimated where nobody reported."""

    usage: TokenUsage | None = None
    cost_nano: int | None = None
    response_id: str = ""
    occurred_at: datetime | None = None
    source: str = "reported"


@transaction.atomic(savepoint=False)
def reserve(
    *,
    account: sql.Account,
    spender: Spender,
    estimate: Estimate,
    requested_model: str = "",
    ttl: timedelta = DEFAULT_TTL,
    wrap_up: bool = False,
    dry_run: bool = False,
) -> Admission | Refusal:
    """Sets the amount aside under every cap of the spender, or under none and says which refused.

    The account was entered in the same transaction.
    """
    limits = sql.limits_at(spender.scopes, account.now, account.zone)
    states = _reserve_all(limits, estimate.amount_nano, wrap_up=wrap_up, keep=not dry_run)
    if states is None:
        states = _expire_and_reserve(account, limits, estimate.amount_nano, wrap_up=wrap_up, keep=not dry_run)
    if states is None:
        refusal = refusal_now(limits, estimate.amount_nano, wrap_up=wrap_up)
        # Room that came free a moment ago changes nothing: the caller asks again.
        return refusal or Refusal(limit=limits[0], amount_nano=estimate.amount_nano, busy=True)
    hold = _new_hold(account, spender, estimate, ttl)
    hold.requested_model = requested_model or spender.model
    hold.wrap_up, hold.balance_ids = wrap_up, [state.id for state in states]
    if not dry_run:
        insert_rows([hold])
        fault("hold.commit.before")
    remaining = min((state.room_nano(wrap_up=wrap_up) for state in states), default=None)
    return Admission(hold=hold, remaining_nano=remaining)


def _reserve_all(
    limits: list[Limit], amount_nano: int, *, wrap_up: bool, keep: bool
) -> list[BalanceState] | None:
    """All or nothing: a refusal, or an amount that is only tried, leaves no trace and no lock."""
    states = []
    with transaction.atomic():
        for balance_id in sorted(limit.balance.id for limit in limits):
            state = sql.try_reserve(balance_id, amount_nano, wrap_up=wrap_up)
            if state is None:
                transaction.set_rollback(True)
                return None
            states.append(state)
        transaction.set_rollback(not keep)
    return states


def _expire_and_reserve(
    account: sql.Account, limits: list[Limit], amount_nano: int, *, wrap_up: bool, keep: bool
) -> list[BalanceState] | None:
    """Frees what holds past their time still block; where that is not enough, nothing stays locked."""
    with transaction.atomic():
        states = None
        if _expire(account.team_id, also_lock=[limit.balance.id for limit in limits]):
            states = _reserve_all(limits, amount_nano, wrap_up=wrap_up, keep=keep)
        transaction.set_rollback(states is None)
    return states


def refusal_now(limits: list[Limit], amount_nano: int, *, wrap_up: bool) -> Refusal | None:
    """Which of the caps refuses the amount as they stand at this moment."""
    states = {state.id: state for state in sql.read_states(limit.balance.id for limit in limits)}
    fresh = [replace(limit, balance=states[limit.balance.id]) for limit in limits]
    return refusal_of(fresh, amount_nano, wrap_up=wrap_up)


def _new_hold(account: sql.Account, spender: Spender, estimate: Estimate, ttl: timedelta) -> Hold:
    return Hold(
        id=new_id("hold"),
        team_id=spender.team_id,
        project_id=spender.project_id,
        session_id=spender.session_id,
        key_id=spender.key_id,
        model=spender.model,
        amount_nano=estimate.amount_nano,
        unpriced=estimate.unpriced,
        estimated_input=estimate.input_tokens,
        estimated_output=estimate.output_tokens,
        created_at=account.now,
        expires_at=account.now + ttl,
    )


def find_hold(*, project_id: str, hold_id: str) -> Hold:
    return _fetch(project_id, hold_id, lock=False)


@transaction.atomic(savepoint=False)
def settle(*, project_id: str, hold_id: str, actual: Actual) -> Settlement:
    """Records what the call cost. A second settle gives the first one's answer; a late one still counts."""
    account = sql.enter(project_id)
    hold = _fetch(project_id, hold_id, lock=True)
    if hold.state == Hold.State.SETTLED:
        return Settlement(hold=hold)
    if hold.state == Hold.State.VOIDED:
        raise HoldResolved("This hold was voided; report the usage as an event instead.", state=hold.state)
    in_time = hold.state == Hold.State.OPEN
    reported = standing_entry(session_id=hold.session_id, response_id=actual.response_id)
    if reported is not None:
        # Reported as an event before: the call counts once, as settled.
        reverse(account, reported)
        actual = replace(actual, usage=actual.usage or reported.usage)
    posting = _posting_of(account, hold, actual, in_time=in_time)
    posted = post(account, posting, releases=_releases(hold) if in_time else {})
    _resolve(hold, Hold.State.SETTLED, account.now, cost_nano=posting.cost_nano, late=not in_time)
    fault("settle.commit.before")
    return Settlement(hold=hold, entry=posted.entry, limits=posted.limits)


def _posting_of(account: sql.Account, hold: Hold, actual: Actual, *, in_time: bool) -> Posting:
    usage, price = actual.usage or TokenUsage(), None
    if actual.cost_nano is None:
        resolved = resolve_model(project_id=hold.project_id, name=hold.requested_model)
        price = price_under_policy(account, resolved.price)
    return Posting(
        spender=spender_of_hold(hold),
        kind=LedgerEntry.Kind.SETTLE,
        usage=usage,
        cost_nano=actual.cost_nano if actual.cost_nano is not None else cost_nano_usd(usage, price),
        price_id=price.price_id if price else "",
        source=actual.source,
        occurred_at=actual.occurred_at or account.now,
        # A late settle finds its reservation gone: it counts in the window in which it is reported.
        counted_at=hold.created_at if in_time else account.now,
        hold_id=hold.pk,
        response_id=actual.response_id,
    )


def spender_of_hold(hold: Hold) -> Spender:
    return Spender(
        team_id=hold.team_id,
        project_id=hold.project_id,
        session_id=hold.session_id,
        key_id=hold.key_id,
        model=hold.model,
    )


@transaction.atomic
def void(*, project_id: str, hold_id: str) -> Hold:
    """Gives the money back because the call was not made; what is void or expired already stays so."""
    account = sql.enter(project_id)
    hold = _fetch(project_id, hold_id, lock=True)
    if hold.state == Hold.State.SETTLED:
        raise HoldResolved("This hold was settled; a settled call cannot be voided.", state=hold.state)
    if hold.state == Hold.State.OPEN:
        _release(_releases(hold))
        _resolve(hold, Hold.State.VOIDED, account.now)
    return hold


@transaction.atomic
def extend(*, project_id: str, hold_id: str, ttl: timedelta) -> Hold:
    """Keeps an open hold for at least `ttl` from now on; one whose time is over is gone."""
    hold = _fetch(project_id, hold_id, lock=True)
    now = read_now()
    if hold.state != Hold.State.OPEN or hold.expires_at <= now:
        raise HoldResolved("This hold is not open any more.", state=hold.state)
    hold.expires_at = max(hold.expires_at, now + ttl)
    hold.save(update_fields=["expires_at"])
    return hold


@sweep
def expire_due_holds() -> None:
    due = Hold.objects.filter(state=Hold.State.OPEN, expires_at__lte=read_now())
    for team_id in due.order_by("team_id").values_list("team_id", flat=True).distinct():
        while _expire_some(team_id) == _EXPIRED_PER_ROUND:
            pass


@transaction.atomic
def _expire_some(team_id: str) -> int:
    sql.share_team(team_id)
    return _expire(team_id, also_lock=())


def _expire(team_id: str, *, also_lock: Iterable[int]) -> int:
    """Ends holds past their time, in a transaction that has locked no balance yet."""
    now = read_now()
    due = Hold.objects.filter(team_id=team_id, state=Hold.State.OPEN, expires_at__lte=now)
    # Whoever has such a row locked is resolving it.
    holds = list(due.order_by("expires_at").select_for_update(skip_locked=True)[:_EXPIRED_PER_ROUND])
    if holds:
        releases = _releases(*holds)
        sql.read_states([*releases, *also_lock], lock=True)
        _release(releases)
    for hold in holds:
        _resolve(hold, Hold.State.EXPIRED, now)
    return len(holds)


def _fetch(project_id: str, hold_id: str, *, lock: bool) -> Hold:
    values = {"id": hold_id, "project_id": project_id}
    hold = fetch_row(Hold, values, lock=lock) if "\x00" not in hold_id else None
    if hold is None:
        raise NotFound()
    return hold


def _releases(*holds: Hold) -> dict[int, int]:
    amounts: dict[int, int] = defaultdict(int)
    for hold in holds:
        for balance_id in hold.balance_ids:
            amounts[balance_id] += hold.amount_nano
    return amounts


def _release(amounts: dict[int, int]) -> None:
    for balance_id in sorted(amounts):
        sql.move(balance_id, release_nano=amounts[balance_id], settle_nano=0)


def _resolve(
    hold: Hold, state: Hold.State, now: datetime, *, cost_nano: int | None = None, late: bool = False
) -> None:
    if not sql.resolve_hold(hold, state=state, cost_nano=cost_nano, late=late, now=now):
        raise HoldResolved("This hold was resolved a moment ago.")
    hold.state, hold.cost_nano, hold.late, hold.resolved_at = state, cost_nano, late, now
