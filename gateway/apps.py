"""Registers the gateway and the job that records its calls."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway"

    def ready(self) -> None:
        from gateway import tasks  # noqa: F401
