"""`manage.py flush`: emptying the database empties the ledger too, so its triggers step aside meanwhile."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import flush
from django.db import connections

from budgets.triggers import create_triggers, drop_triggers


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        connection = connections[options["database"]]
        drop_triggers(connection)
        try:
            super().handle(**options)
        finally:
            create_triggers(connection)
