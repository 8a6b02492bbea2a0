"""Quarter-hour rollups, added to in the transaction of what they count. The hot path's raw SQL lives here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import DataError, connection
from django.db.backends.utils import CursorWrapper

from budgets.core.usage import TokenUsage
from budgets.errors import SumOverflow
from sessions.models import AgentSession, UsageBucket

_KEYS = ("project_id", "quarter", "model", "profile_id", "section")
_SUMS = (
    "calls",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "cost_nano",
    "unpriced_calls",
    "used_tokens",
    "planned_tokens",
    "over_budget_calls",
)
_TABLE = UsageBucket._meta.db_table
_UPSERT = (
    f"INSERT INTO {_TABLE} ({', '.join(_KEYS + _SUMS)})"
    f" VALUES ({', '.join(['%s'] * (len(_KEYS) + len(_SUMS)))})"
    f" ON CONFLICT ({', '.join(_KEYS)}) DO UPDATE SET "
    + ", ".join(f"{name} = {_TABLE}.{name} + excluded.{name}" for name in _SUMS)
    + f" RETURNING {', '.join(_SUMS)}"
)


def quarter_of(moment: datetime) -> datetime:
    """15 minutes, because some time zones are not whole hours."""
    return moment.replace(minute=moment.minute - moment.minute % 15, second=0, microsecond=0)


def add_call(
    session: AgentSession,
    *,
    model: str,
    at: datetime,
    usage: TokenUsage,
    cost_nano: int | None,
    calls: int,
    used: int,
    total: int,
    sign: int = 1,
) -> None:
    """One reported model call; `sign` -1 takes a replaced report out again."""
    amounts = {
        "calls": calls,
        "input_tokens": sign * usage.input_tokens,
        "cache_read_tokens": sign * usage.cache_read_tokens,
        "cache_write_tokens": sign * (usage.cache_write_5m_tokens + usage.cache_write_1h_tokens),
        "output_tokens": sign * usage.output_tokens,
        "cost_nano": sign * (cost_nano or 0),
        "unpriced_calls": calls if cost_nano is None else 0,
        "used_tokens": sign * used,
        "planned_tokens": sign * total,
        "over_budget_calls": sign * int(used > total),
    }
    _upsert(session, model, at, [("", amounts)])


def add_assembly(
    session: AgentSession, *, model: str, at: datetime, sections: Sequence[Mapping[str, int | str]]
) -> None:
    """Planned against used, per section of an assembled context."""
    rows = [
        (
            str(row["name"]),
            {
                "calls": 1,
                "used_tokens": int(row["used"]),
                "planned_tokens": int(row["planned"]),
                "over_budget_calls": int(int(row["used"]) > int(row["planned"])),
            },
        )
        for row in sections
    ]
    _upsert(session, model, at, rows)


def _upsert(
    session: AgentSession, model: str, at: datetime, rows: Sequence[tuple[str, Mapping[str, int]]]
) -> None:
    quarter = connection.ops.adapt_datetimefield_value(quarter_of(at))
    # Sorted: two transactions that touch the same buckets take them in the same order.
    values = [
        [
            session.project_id,
            quarter,
            model,
            session.profile_id,
            section,
            *(amounts.get(name, 0) for name in _SUMS),
        ]
        for section, amounts in sorted(rows)
    ]
    with connection.cursor() as cursor:
        for row in values:
            _add(cursor, row)


def _add(cursor: CursorWrapper, row: Sequence[Any]) -> None:
    """Postgres refuses a sum beyond 63 bits, SQLite would go on with a float: neither may be kept."""
    overflow = SumOverflow("The sums of this quarter hour would no longer fit; nothing was changed.")
    try:
        cursor.execute(_UPSERT, row)
    except DataError:
        raise overflow from None
    if not all(type(amount) is int for amount in cursor.fetchone()):
        raise overflow
