"""Registers teams: who owns what, and who may do what."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "teams"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from teams import tasks  # noqa: F401
