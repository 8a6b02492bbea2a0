"""The running windows of many caps, read together; nothing here writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from budgets.core.periods import Window, window_at
from budgets.models import Balance, Cap, Scope
from budgets.services import admission_sql as sql
from budgets.services.caps import WindowView
from kernel.clock import read_now


def window_views(found: Sequence[Cap], zones: Mapping[str, str]) -> dict[str, WindowView]:
    """By cap id, in one query; `zones` are the time zones of the caps' projects."""
    now = read_now()
    windows = {
        cap.pk: window_at(
            cap.period, now, sql.UTC_ZONE if cap.scope == Scope.TEAM else sql.zone_of(zones[cap.project_id])
        )
        for cap in found
    }
    keys = {window.key for window in windows.values()}
    balances = {
        (balance.cap_id, balance.window_key): balance
        for balance in Balance.objects.filter(cap__in=found, window_key__in=keys)
    }
    return {cap.pk: _view(cap, balances.get((cap.pk, windows[cap.pk].key)), windows[cap.pk]) for cap in found}


def _view(cap: Cap, balance: Balance | None, window: Window) -> WindowView:
    """A window that has no balance yet is one in which nothing was spent."""
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
