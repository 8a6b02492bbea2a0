"""Registers budgets: how much is allowed, in tokens and in money."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class BudgetsConfig(AppConfig):
    name = "budgets"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from budgets import triggers
        from budgets.services import holds  # noqa: F401  its sweep

        post_migrate.connect(triggers.restore_after_migrate, sender=self)
