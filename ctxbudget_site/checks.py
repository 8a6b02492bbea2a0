"""System checks: every setting that can be wrong says so at start, with an id and a hint."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

KNOWN_SETTINGS = {
    "ENVIRONMENT", "DATA_DIR", "DEBUG", "DEBUG_BUDGET", "SECRET_KEY", "ALLOWED_HOSTS", "PUBLIC_URL", "PORT",
    "DATABASE_URL", "REDIS_URL", "STATIC_ROOT", "SUMMARISER_URL", "SUMMARISER_MODEL", "SUMMARISER_API_KEY",
    "ALLOW_PRIVATE_ADDRESSES", "LOG_LEVEL", "TEST_SQLITE", "SHARED_DATA", "PROOF", "GATEWAY_PORT",
}  # fmt: skip
# Each alone, or with __ and a project's id behind it.
BY_PROJECT = {"OPENAI_UPSTREAM", "OPENAI_API_KEY", "ANTHROPIC_UPSTREAM", "ANTHROPIC_API_KEY"}


@register()
def environment_is_known(app_configs: Any, **_: Any) -> list[CheckMessage]:
    if settings.ENVIRONMENT in ("embedded", "production"):
        return []
    return [
        Error(
            f"CTXBUDGET_ENVIRONMENT is {settings.ENVIRONMENT!r}.",
            hint="Use embedded (the default) or production.",
            id="ctxbudget.E001",
        )
    ]


@register()
def variables_are_known(app_configs: Any, **_: Any) -> list[CheckMessage]:
    given = {name.removeprefix("CTXBUDGET_") for name in os.environ if name.startswith("CTXBUDGET_")}
    return [
        Error(
            f"CTXBUDGET_{name} is not a setting of ctxbudget.",
            hint="Look for a misspelling; docs/settings.md lists them all.",
            id="ctxbudget.E002",
        )
        for name in sorted(given - KNOWN_SETTINGS)
        if name.partition("__proj_")[0] not in BY_PROJECT
    ]


@register()
def data_directory_is_writable(app_configs: Any, **_: Any) -> list[CheckMessage]:
    folder = settings.DATA_DIR
    existing = next((parent for parent in (folder, *folder.parents) if parent.exists()), folder)
    if os.access(existing, os.W_OK):
        return []
    return [
        Error(
            f"The data folder {folder} cannot be written.",
            hint="Choose another with DATA_DIR= (make run) or CTXBUDGET_DATA_DIR.",
            id="ctxbudget.E003",
        )
    ]


@register()
def sqlite_is_safe(app_configs: Any, **_: Any) -> list[CheckMessage]:
    database = settings.DATABASES["default"]
    if not database["ENGINE"].endswith("sqlite"):
        return []
    options = database.get("OPTIONS", {})
    safe = options.get("transaction_mode") == "IMMEDIATE" and "journal_mode=WAL" in options.get(
        "init_command", ""
    )
    if safe:
        return []
    return [
        Error(
            "SQLite runs without WAL and IMMEDIATE transactions.",
            hint="Concurrent writers would fail with 'database is locked'; keep the OPTIONS of settings.py.",
            id="ctxbudget.E004",
        )
    ]


@register()
def production_is_locked_down(app_configs: Any, **_: Any) -> list[CheckMessage]:
    if settings.ENVIRONMENT != "production":
        return []
    found: list[CheckMessage] = []
    if settings.SECRET_KEY == settings.DEMO_SECRET or len(settings.SECRET_KEY) < 32:
        found.append(
            Error(
                "Production runs with the demo secret or a short one.",
                hint="Set CTXBUDGET_SECRET_KEY to at least 32 random characters.",
                id="ctxbudget.E005",
            )
        )
    if settings.DEBUG:
        found.append(Error("Production runs with DEBUG.", hint="Unset CTXBUDGET_DEBUG.", id="ctxbudget.E006"))
    if "*" in settings.ALLOWED_HOSTS:
        found.append(
            Error(
                "ALLOWED_HOSTS allows every host.",
                hint="Name your hosts in CTXBUDGET_ALLOWED_HOSTS.",
                id="ctxbudget.E007",
            )
        )
    return found
