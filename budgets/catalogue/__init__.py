"""The models and prices we ship knowledge of; an administrator's own rows go before them."""

from budgets.catalogue.facts import ModelFacts, all_models, find_model
from budgets.catalogue.prices import catalogue_price

__all__ = ["ModelFacts", "all_models", "catalogue_price", "find_model"]
