"""Everything that changes caps, each change with an audit row, and what crossing one means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from budgets.core.caps import Limit, default_reserve
from budgets.core.periods import TOTAL, Window, window_at
from budgets.errors import SumOverflow
from budgets.models import Balance, Cap, Hold, Scope
from budgets.services import admission_sql as sql
from budgets.services.audit import Author
from kernel.clock import read_now
from kernel.errors import FieldProblem, Invalid, NotFound, PreconditionFailed
from kernel.http.schemas import usd
from kernel.ids import new_id
from teams.models import Project
from teams.services import record_audit

WARN_BP = 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class CapTerms:
    """What a cap is created with; without a reserve, 5 % of the limit is kept for wrapping up."""

    scope: str
    scope_id: str
    period: str
    limit_nano: int
    warn_bp: int = WARN_BP
    wrap_up_reserve_nano: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapChange:
    """None leaves a term as it is."""

    limit_nano: int | None = None
    warn_bp: int | None = None
    wrap_up_reserve_nano: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowView:
    """What the running window of a cap holds; remaining is what a hold may still take."""

    key: str
    limit_nano: int
    settled_nano: int
    reserved_nano: int
    remaining_nano: int
    resets_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A level that spending has passed and that nobody was told of yet."""

    is_limit: bool
    limit: Limit


def find_cap(*, project_id: str, cap_id: str) -> Cap:
    cap = Cap.objects.of_project(project_id).filter(pk=cap_id).first() if "\x00" not in cap_id else None
    if cap is None:
        raise NotFound()
    return cap


@transaction.atomic
def create_cap(*, team_id: str, project_id: str, terms: CapTerms, author: Author) -> Cap:
    """What was spent and is held in the window already counts: the cap is true from its first moment."""
    reserve = terms.wrap_up_reserve_nano
    reserve = default_reserve(terms.limit_nano) if reserve is None else reserve
    _refuse_reserve_above(terms.limit_nano, reserve)
    sql.lock_team(team_id)
    cap = Cap.objects.create(
        id=new_id("cap"),
        team_id=team_id,
        project_id=project_id,
        scope=terms.scope,
        scope_id=terms.scope_id,
        period=terms.period,
        limit_nano=terms.limit_nano,
        warn_bp=terms.warn_bp,
        wrap_up_reserve_nano=reserve,
        created_at=read_now(),
    )
    _take_in_open_holds(cap, current_limit(cap))
    _audit(cap, author, "cap.created", after=_terms(cap))
    return cap


def _take_in_open_holds(cap: Cap, limit: Limit) -> None:
    window = current_window(cap)
    for hold in _open_holds(cap).select_for_update().order_by("id"):
        if window.starts_at is None or hold.created_at >= window.starts_at:
            hold.balance_ids = sorted([*hold.balance_ids, limit.balance.id])
            hold.save(update_fields=["balance_ids"])
            Balance.objects.filter(pk=limit.balance.id).update(
                reserved_nano=F("reserved_nano") + hold.amount_nano
            )


def _open_holds(cap: Cap) -> Any:
    columns = {
        Scope.TEAM: {"team_id": cap.scope_id},
        Scope.PROJECT: {"project_id": cap.scope_id},
        Scope.MODEL: {"project_id": cap.project_id, "model": cap.scope_id.partition("/")[2]},
        Scope.KEY: {"key_id": cap.scope_id},
        Scope.SESSION: {"session_id": cap.scope_id},
    }
    return Hold.objects.filter(state=Hold.State.OPEN, **columns[Scope(cap.scope)])


@transaction.atomic
def change_cap(*, cap: Cap, change: CapChange, author: Author) -> Cap:
    """Changes the version that was read, and with it the window that is running."""
    sql.lock_team(cap.team_id)
    before, balance_id = _terms(cap), current_limit(cap).balance.id
    limit = cap.limit_nano if change.limit_nano is None else change.limit_nano
    reserve = cap.wrap_up_reserve_nano if change.wrap_up_reserve_nano is None else change.wrap_up_reserve_nano
    _refuse_reserve_above(limit, reserve)
    added = limit - cap.limit_nano
    changed = Cap.objects.filter(pk=cap.pk, version=cap.version, active=True).update(
        limit_nano=limit,
        wrap_up_reserve_nano=reserve,
        warn_bp=cap.warn_bp if change.warn_bp is None else change.warn_bp,
        version=F("version") + 1,
    )
    if changed != 1:
        raise PreconditionFailed("The cap was changed in the meantime; read it again.")
    Balance.objects.filter(pk=balance_id).update(
        limit_nano=F("limit_nano") + added, wrap_up_reserve_nano=reserve, warned=False, limit_told=False
    )
    cap.refresh_from_db()
    _audit(cap, author, "cap.changed", before=before, after=_terms(cap))
    return cap


@transaction.atomic
def raise_cap(*, cap: Cap, amount_nano: int, author: Author) -> Cap:
    """Adds to the running window; the total has only one, so its cap rises for good."""
    sql.share_team(cap.team_id)
    balance = current_limit(cap).balance
    if balance.limit_nano + amount_nano > sql.MAX_NANO:
        raise SumOverflow("The cap would no longer fit; nothing was changed.")
    Balance.objects.filter(pk=balance.id).update(
        limit_nano=F("limit_nano") + amount_nano, warned=False, limit_told=False
    )
    risen = amount_nano if cap.period == TOTAL else 0
    Cap.objects.filter(pk=cap.pk).update(limit_nano=F("limit_nano") + risen, version=F("version") + 1)
    cap.refresh_from_db()
    added = {"added_usd": usd(amount_nano), "window": current_window(cap).key}
    _audit(cap, author, "cap.raised", after=added)
    return cap


@transaction.atomic
def deactivate_cap(*, cap: Cap, author: Author) -> None:
    """The cap stops holding; its history stays. Doing it twice changes nothing."""
    sql.lock_team(cap.team_id)
    if Cap.objects.filter(pk=cap.pk, active=True).update(active=False, version=F("version") + 1):
        _audit(cap, author, "cap.deactivated", before=_terms(cap))


def current_window(cap: Cap) -> Window:
    if cap.scope == Scope.TEAM:
        return window_at(cap.period, read_now(), sql.UTC_ZONE)
    zone = Project.objects.values_list("time_zone", flat=True).get(pk=cap.project_id)
    return window_at(cap.period, read_now(), sql.zone_of(zone))


def current_limit(cap: Cap) -> Limit:
    """The cap with its balance for the running window, made now where it is missing."""
    return sql.limit_of(cap, current_window(cap))


def window_view(cap: Cap) -> WindowView:
    """Writes nothing: a window that has no balance yet is one in which nothing was spent."""
    window = current_window(cap)
    balance = cap.balances.filter(window_key=window.key).first()
    if balance is None:
        balance = Balance(limit_nano=cap.limit_nano, wrap_up_reserve_nano=cap.wrap_up_reserve_nano)
    ceiling = balance.limit_nano - balance.wrap_up_reserve_nano
    return WindowView(
        key=window.key,
        limit_nano=balance.limit_nano,
        settled_nano=balance.settled_nano,
        reserved_nano=balance.reserved_nano,
        remaining_nano=ceiling - balance.settled_nano - balance.reserved_nano,
        resets_at=window.ends_at,
    )


def claim_crossings(limits: Iterable[Limit]) -> Iterator[Crossing]:
    """Levels that were passed, each given to exactly one caller: once a window, again after a raise."""
    for limit in limits:
        balance = Balance.objects.filter(pk=limit.balance.id)
        if limit.is_warning and not limit.balance.warned and balance.filter(warned=False).update(warned=True):
            yield Crossing(is_limit=False, limit=limit)
        if limit.is_spent and not limit.balance.limit_told:
            told = balance.filter(limit_told=False).update(limit_told=True)
            if told:
                yield Crossing(is_limit=True, limit=limit)


def _refuse_reserve_above(limit_nano: int, reserve_nano: int) -> None:
    if reserve_nano > limit_nano:
        field = FieldProblem(pointer="/wrap_up_reserve_usd", detail="is kept inside the limit")
        raise Invalid("The wrap-up reserve cannot be larger than the limit.", errors=(field,))


def _terms(cap: Cap) -> dict[str, Any]:
    return {
        "scope": cap.scope,
        "scope_id": cap.scope_id,
        "period": cap.period,
        "limit_usd": usd(cap.limit_nano),
        "warn_bp": cap.warn_bp,
        "wrap_up_reserve_usd": usd(cap.wrap_up_reserve_nano),
    }


def _audit(cap: Cap, author: Author, action: str, *, before: Any = None, after: Any = None) -> None:
    record_audit(
        team_id=cap.team_id,
        project_id=cap.project_id,
        actor=author.actor,
        action=action,
        subject_id=cap.pk,
        before=before,
        after=after,
        request_id=author.request_id,
    )
