"""The raw SQL of admission, settlement and their balances: one short statement per step, on both databases.

Whoever changes money first enters the project, which shares a lock on its team; whoever creates or changes
a cap takes that lock alone, so that a new balance starts from a ledger that nobody is writing to.
Balances are inserted in the order of their caps and updated in the order of their ids: nothing deadlocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection

from budgets.core.caps import BalanceState, Limit
from budgets.core.periods import PERIODS, Window, window_at
from budgets.models import Balance, Cap, Hold, LedgerEntry, Scope
from kernel.clock import read_now, shifted
from kernel.errors import NotFound
from kernel.rows import column_values
from teams.models import Project

# Sums stay below this, so that settled + reserved + amount always fits a 64-bit integer.
MAX_NANO = 2**61

_CAP, _BALANCE, _HOLD, _LEDGER, _PROJECT = (
    model._meta.db_table for model in (Cap, Balance, Hold, LedgerEntry, Project)
)
_STATE_COLUMNS = (
    "id",
    "cap_id",
    "limit_nano",
    "wrap_up_reserve_nano",
    "settled_nano",
    "reserved_nano",
    "warned",
    "limit_told",
)
_STATE = ", ".join(_STATE_COLUMNS)
_ENTRY_FIELDS = [field for field in LedgerEntry._meta.concrete_fields if not field.primary_key]
_INSERT_ENTRY = (
    f"INSERT INTO {_LEDGER} ({', '.join(str(field.column) for field in _ENTRY_FIELDS)})"
    f" VALUES ({', '.join(['%s'] * len(_ENTRY_FIELDS))}) RETURNING id"
)
_LOCK_KEY = "hashtextextended({}, 7)"
_TERMS = f"SELECT team_id, time_zone, unpriced_policy{{lock}} FROM {_PROJECT} WHERE id = %s"
_LOCKED_TERMS = _TERMS.format(lock=f", pg_advisory_xact_lock_shared({_LOCK_KEY.format('team_id')})")
# The moment is read by the outer query, and so after the lock was waited for.
_ENTER_POSTGRES = (
    f"SELECT team_id, time_zone, unpriced_policy, clock_timestamp() FROM ({_LOCKED_TERMS} OFFSET 0) terms"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A project's terms, read in the transaction that moves its money, and the moment of that."""

    project_id: str
    team_id: str
    zone: ZoneInfo
    unpriced_policy: str
    now: datetime


def enter(project_id: str) -> Account:
    """The project's terms; holds off changes of its caps until this transaction ends."""
    row = _one(_ENTER_POSTGRES if _is_postgres() else _TERMS.format(lock=""), [project_id])
    if row is None:
        raise NotFound()
    team_id, time_zone, unpriced_policy, *moment = row
    return Account(
        project_id=project_id,
        team_id=team_id,
        zone=zone_of(time_zone),
        unpriced_policy=unpriced_policy,
        now=shifted(moment[0]) if moment else read_now(),
    )


def share_team(team_id: str) -> None:
    """As `enter` does, for housekeeping that belongs to no project."""
    if _is_postgres():
        _run(f"SELECT pg_advisory_xact_lock_shared({_LOCK_KEY.format('%s')})", [team_id])


def lock_team(team_id: str) -> None:
    """Waits until nobody moves money of the team, and lets nobody until this transaction ends."""
    if _is_postgres():
        _run(f"SELECT pg_advisory_xact_lock({_LOCK_KEY.format('%s')})", [team_id])


@lru_cache(maxsize=512)
def zone_of(name: str) -> ZoneInfo:
    return ZoneInfo(name)


UTC_ZONE = zone_of("UTC")


def windows_at(moment: datetime, zone: ZoneInfo) -> dict[str, Window]:
    """Clocks differ from UTC by whole seconds: all moments of a second are in the same windows."""
    return _windows_of_second(moment.replace(microsecond=0), zone)


@lru_cache(maxsize=512)
def _windows_of_second(moment: datetime, zone: ZoneInfo) -> dict[str, Window]:
    return {period: window_at(period, moment, zone) for period in PERIODS}


_LIMITS = f"""
SELECT c.id, c.scope, c.scope_id, c.period, c.warn_bp, {", ".join(f"b.{name}" for name in _STATE_COLUMNS)}
FROM {_CAP} c LEFT JOIN {_BALANCE} b
ON b.cap_id = c.id AND b.window_key = CASE c.period WHEN 'total' THEN 'total'
  WHEN 'hour' THEN CASE c.scope WHEN 'team' THEN %s ELSE %s END
  WHEN 'day' THEN CASE c.scope WHEN 'team' THEN %s ELSE %s END
  WHEN 'week' THEN CASE c.scope WHEN 'team' THEN %s ELSE %s END
  ELSE CASE c.scope WHEN 'team' THEN %s ELSE %s END END
WHERE c.active AND ((c.scope = %s AND c.scope_id = %s) OR (c.scope = %s AND c.scope_id = %s)
  OR (c.scope = %s AND c.scope_id = %s) OR (c.scope = %s AND c.scope_id = %s)
  OR (c.scope = %s AND c.scope_id = %s))
ORDER BY c.id
"""


def limits_at(scopes: Sequence[tuple[str, str]], moment: datetime, zone: ZoneInfo) -> list[Limit]:
    """Every cap on these scopes with its balance for that moment, made now where it is missing.

    A team's windows follow UTC, because its projects may keep different time zones.
    """
    own, team = windows_at(moment, zone), windows_at(moment, UTC_ZONE)
    keys = [windows[period].key for period in PERIODS[1:] for windows in (team, own)]
    rows = _all(_LIMITS, [*keys, *(part for scope in scopes for part in scope)])
    limits = []
    for cap_id, scope, scope_id, period, warn_bp, *state in rows:
        window = (team if scope == Scope.TEAM else own)[period]
        missing = state[0] is None
        limits.append(
            Limit(
                cap_id=cap_id,
                scope=scope,
                scope_id=scope_id,
                period=period,
                warn_bp=warn_bp,
                resets_at=window.ends_at,
                balance=_state(_create_balance(cap_id, scope, scope_id, window) if missing else state),
            )
        )
    return limits


def limit_of(cap: Cap, window: Window) -> Limit:
    """One cap with its balance for a window, made now where it is missing."""
    row = _one(f"SELECT {_STATE} FROM {_BALANCE} WHERE cap_id = %s AND window_key = %s", [cap.pk, window.key])
    return Limit(
        cap_id=cap.pk,
        scope=cap.scope,
        scope_id=cap.scope_id,
        period=cap.period,
        warn_bp=cap.warn_bp,
        resets_at=window.ends_at,
        balance=_state(row or _create_balance(cap.pk, cap.scope, cap.scope_id, window)),
    )


# What a scope's ledger rows and holds are found by.
_SCOPE_FILTERS = {
    Scope.TEAM.value: "team_id = %s",
    Scope.PROJECT.value: "project_id = %s",
    Scope.MODEL.value: "project_id = %s AND model = %s",
    Scope.KEY.value: "key_id = %s",
    Scope.SESSION.value: "session_id = %s",
}


def scope_filter(scope: str, scope_id: str) -> tuple[str, list[str]]:
    parts = list(scope_id.partition("/")[::2]) if scope == Scope.MODEL else [scope_id]
    return _SCOPE_FILTERS[scope], parts


def _create_balance(cap_id: str, scope: str, scope_id: str, window: Window) -> Sequence[Any]:
    """A window starts from what the ledger already holds of it: a cap may be made in its middle."""
    spent = ledger_sum(scope, scope_id, window)
    values = [window.key, sql_time(window.starts_at), sql_time(window.ends_at), spent, False, False, cap_id]
    _run(
        f"INSERT INTO {_BALANCE} (cap_id, limit_nano, wrap_up_reserve_nano, reserved_nano,"
        " window_key, starts_at, ends_at, settled_nano, warned, limit_told)"
        f" SELECT id, limit_nano, wrap_up_reserve_nano, 0, {', '.join(_typed_values())}"
        f" FROM {_CAP} WHERE id = %s"
        " ON CONFLICT (cap_id, window_key) DO NOTHING",
        values,
    )
    row = _one(f"SELECT {_STATE} FROM {_BALANCE} WHERE cap_id = %s AND window_key = %s", [cap_id, window.key])
    assert row is not None
    return row


def _typed_values() -> list[str]:
    # Postgres cannot tell the type of a bare NULL in a SELECT list.
    moment = "CAST(%s AS timestamptz)" if _is_postgres() else "%s"
    return ["%s", moment, moment, "%s", "%s", "%s"]


def ledger_sum(scope: str, scope_id: str, window: Window) -> int:
    condition, parts = scope_filter(scope, scope_id)
    if window.starts_at is not None:
        condition += " AND counted_at >= %s AND counted_at < %s"
        parts += [sql_time(window.starts_at), sql_time(window.ends_at)]
    row = _one(f"SELECT COALESCE(SUM(cost_nano), 0) FROM {_LEDGER} WHERE {condition}", parts)
    assert row is not None
    return int(row[0])


def try_reserve(balance_id: int, amount_nano: int, *, wrap_up: bool) -> BalanceState | None:
    """Admission: adds the amount only while it fits, checked and written by one statement."""
    ceiling = "limit_nano" if wrap_up else "limit_nano - wrap_up_reserve_nano"
    row = _one(
        f"UPDATE {_BALANCE} SET reserved_nano = reserved_nano + %s"
        f" WHERE id = %s AND settled_nano + reserved_nano + %s <= {ceiling} RETURNING {_STATE}",
        [amount_nano, balance_id, amount_nano],
    )
    return _state(row) if row else None


def move(balance_id: int, *, release_nano: int, settle_nano: int) -> BalanceState | None:
    """Releases what was reserved and adds what was spent; None when the sum would no longer fit."""
    row = _one(
        f"UPDATE {_BALANCE} SET reserved_nano = reserved_nano - %s, settled_nano = settled_nano + %s"
        f" WHERE id = %s AND settled_nano <= %s RETURNING {_STATE}",
        [release_nano, settle_nano, balance_id, MAX_NANO - settle_nano],
    )
    return _state(row) if row else None


def read_states(balance_ids: Iterable[int], *, lock: bool = False) -> list[BalanceState]:
    ids = sorted(set(balance_ids))
    if not ids:
        return []
    places = ", ".join(["%s"] * len(ids))
    suffix = " FOR UPDATE" if lock and _is_postgres() else ""
    rows = _all(f"SELECT {_STATE} FROM {_BALANCE} WHERE id IN ({places}) ORDER BY id{suffix}", ids)
    return [_state(row) for row in rows]


def resolve_hold(hold: Hold, *, state: str, cost_nano: int | None, late: bool, now: datetime) -> bool:
    """Ends a hold whose state is still the one that was read: whoever changes the row has resolved it."""
    row = _one(
        f"UPDATE {_HOLD} SET state = %s, cost_nano = %s, late = %s, resolved_at = %s"
        " WHERE id = %s AND state = %s RETURNING id",
        [state, cost_nano, late, sql_time(now), hold.pk, hold.state],
    )
    return row is not None


def session_of_hold(project_id: str, hold_id: str) -> str | None:
    row = _one(f"SELECT session_id FROM {_HOLD} WHERE id = %s AND project_id = %s", [hold_id, project_id])
    return row[0] if row else None


def insert_entry(entry: LedgerEntry) -> None:
    """Writes the entry and reads back the id that the database gave it."""
    row = _one(_INSERT_ENTRY, column_values(_ENTRY_FIELDS, entry))
    assert row is not None
    entry.pk = row[0]


def sql_time(moment: datetime | None) -> Any:
    return connection.ops.adapt_datetimefield_value(moment)


def _state(row: Sequence[Any]) -> BalanceState:
    return BalanceState(**dict(zip(_STATE_COLUMNS, row, strict=True)))


def _is_postgres() -> bool:
    return connection.vendor == "postgresql"


def _run(sql: str, values: Sequence[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def _one(sql: str, values: Sequence[Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def _all(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
