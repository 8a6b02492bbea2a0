"""Triggers that keep ledger rows as they were written, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

TABLE = "budgets_ledgerentry"
_REASON = "ledger rows are never changed"

_SQLITE = {
    f"ledger_keeps_{event.lower()}": (
        f"CREATE TRIGGER ledger_keeps_{event.lower()} BEFORE {event} ON {TABLE}"
        f" BEGIN SELECT RAISE(ABORT, '{_REASON}'); END"
    )
    for event in ("UPDATE", "DELETE")
}
_FUNCTION = (
    "CREATE OR REPLACE FUNCTION ledger_refuses_change() RETURNS trigger LANGUAGE plpgsql AS"
    f" $$ BEGIN RAISE EXCEPTION '{_REASON}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
)
_POSTGRES = {
    "ledger_keeps_rows": (
        f"CREATE TRIGGER ledger_keeps_rows BEFORE UPDATE OR DELETE ON {TABLE}"
        " FOR EACH ROW EXECUTE FUNCTION ledger_refuses_change()"
    ),
    "ledger_keeps_table": (
        f"CREATE TRIGGER ledger_keeps_table BEFORE TRUNCATE ON {TABLE}"
        " FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuses_change()"
    ),
}


def create_triggers(connection: BaseDatabaseWrapper) -> None:
    """Makes those that are missing: SQLite drops them silently when a migration rebuilds the table."""
    if TABLE not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_FUNCTION)
        for name in missing_triggers(connection):
            cursor.execute(_triggers(connection)[name])


def drop_triggers(connection: BaseDatabaseWrapper) -> None:
    """Only for emptying the whole database."""
    place = f" ON {TABLE}" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        for name in _triggers(connection):
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}{place}")


def missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    query = (
        "SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass"
        if connection.vendor == "postgresql"
        else "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [TABLE])
        present = {row[0] for row in cursor.fetchall()}
    return [name for name in _triggers(connection) if name not in present]


def restore_after_migrate(*, using: str = DEFAULT_DB_ALIAS, **_: Any) -> None:
    create_triggers(connections[using])


@register(Tags.database)
def ledger_is_protected(
    app_configs: Any, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    for alias in databases or ():
        connection = connections[alias]
        if TABLE not in connection.introspection.table_names():
            continue
        found += [
            Error(
                f"The trigger {name}, which keeps ledger rows as they are, is missing.",
                hint="`manage.py migrate --skip-checks` makes it again.",
                id="ctxbudget.E101",
            )
            for name in missing_triggers(connection)
        ]
    return found


def _triggers(connection: BaseDatabaseWrapper) -> dict[str, str]:
    return _POSTGRES if connection.vendor == "postgresql" else _SQLITE
