"""Finds the entry that stands for a response or a hold."""

from __future__ import annotations

from budgets.models import LedgerEntry


def standing_entry(*, session_id: str, response_id: str = "", hold_id: str = "") -> LedgerEntry | None:
    """The one entry for this response, or for this hold, that no correction has taken back."""
    found = _standing(session_id=session_id, response_id=response_id) if response_id else None
    if found is None and hold_id:
        found = _standing(session_id=session_id, hold_id=hold_id)
    return found


def _standing(**wanted: str) -> LedgerEntry | None:
    rows = LedgerEntry.objects.filter(correction=None, **wanted)
    return rows.exclude(kind=LedgerEntry.Kind.CORRECTION).order_by("-id").first()
