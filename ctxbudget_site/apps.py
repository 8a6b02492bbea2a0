"""Registers the wiring of ctxbudget and its system checks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "ctxbudget_site"

    def ready(self) -> None:
        from ctxbudget_site import checks  # noqa: F401
