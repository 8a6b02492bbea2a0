"""Finds the entry that stands for a response or a hold."""

from __future__ import annotations

from budgets.models import LedgerEntry


def standing_entry(*, session_id: str, response_id: str = "", hold_id: str = "") -> LedgerEntry | None:
    """The one entry for this response, or for this hold, that no correction has taken back."""
    standing = LedgerEntry.objects.filter(session_id=session_id, correction=None).exclude(
        kind=LedgerEntry.Kind.CORRECTION
    )
    if response_id:
        found = standing.filter(response_id=response_id).order_by("-id").first()
        if found is not None:
            return found
    return standing.filter(hold_id=hold_id).order_by("-id").first() if hold_id else None
