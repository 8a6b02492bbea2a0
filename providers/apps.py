"""Registers the one room that speaks vendors' shapes."""

from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "providers"
