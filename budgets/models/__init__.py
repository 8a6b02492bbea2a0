"""The tables of budgets, by noun."""

from budgets.models.catalogue import ModelOverride, ModelPrice
from budgets.models.money import Balance, Cap, Hold, LedgerEntry, Scope
from budgets.models.profiles import Profile, ProfileRevision

__all__ = [
    "Balance",
    "Cap",
    "Hold",
    "LedgerEntry",
    "ModelOverride",
    "ModelPrice",
    "Profile",
    "ProfileRevision",
    "Scope",
]
