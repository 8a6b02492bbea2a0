"""Registers analytics: the read side."""

from django.apps import AppConfig


class AnalyticsConfig(AppConfig):
    name = "analytics"
