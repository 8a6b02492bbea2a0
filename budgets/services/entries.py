"""Finds the entry that stands for a response or a hold."""

from __future__ import annotations

from budgets.models import LedgerEntry
from kernel.rows import fetch_rows

_TABLE = LedgerEntry._meta.db_table
# Every settlement asks for one: written by hand, as the ORM's query building would cost more.
_STANDING = (
    f"{_TABLE}.session_id = %s AND {_TABLE}.{{column}} = %s AND {_TABLE}.kind <> 'correction' AND NOT EXISTS"
    f" (SELECT 1 FROM {_TABLE} taken_back WHERE taken_back.corrects_id = {_TABLE}.id)"
    f" ORDER BY {_TABLE}.id DESC LIMIT 1"
)


def standing_entry(*, session_id: str, response_id: str = "", hold_id: str = "") -> LedgerEntry | None:
    """The one entry for this response, or for this hold, that no correction has taken back."""
    found = _standing(session_id, "response_id", response_id) if response_id else None
    if found is None and hold_id:
        found = _standing(session_id, "hold_id", hold_id)
    return found


def _standing(session_id: str, column: str, value: str) -> LedgerEntry | None:
    rows = fetch_rows(LedgerEntry, _STANDING.format(column=column), [session_id, value])
    return rows[0] if rows else None
