"""Wiring only: settings, URLs, the API object, Celery and system checks."""

from ctxbudget_site.celery import app as celery_app

__all__ = ["celery_app"]
