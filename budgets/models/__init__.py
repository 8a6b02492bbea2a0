"""The tables of budgets, by noun."""

from budgets.models.catalogue import ModelOverride, ModelPrice
from budgets.models.profiles import Profile, ProfileRevision

__all__ = ["ModelOverride", "ModelPrice", "Profile", "ProfileRevision"]
