"""Registers sessions under a label that django.contrib.sessions does not use."""

from django.apps import AppConfig


class AgentSessionsConfig(AppConfig):
    name = "sessions"
    label = "agent_sessions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from sessions import tasks  # noqa: F401
