"""The tables of budgets, by noun."""

from budgets.models.catalogue import ModelCalibration, ModelOverride, ModelPrice
from budgets.models.money import Balance, Cap, Hold, LedgerEntry, Scope
from budgets.models.profiles import Profile, ProfileRevision

__all__ = [
    "Balance",
    "Cap",
    "Hold",
    "LedgerEntry",
    "ModelCalibration",
    "ModelOverride",
    "ModelPrice",
    "Profile",
    "ProfileRevision",
    "Scope",
]
