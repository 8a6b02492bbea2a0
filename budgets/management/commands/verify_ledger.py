"""`manage.py verify_ledger`: recomputes all balances from the ledger and counts the differences."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from budgets.models import LedgerEntry
from budgets.services.reconcile import differences


class Command(BaseCommand):
    help = "Recomputes every balance and hold from the ledger; exits with an error when anything differs."

    def handle(self, *args: Any, **options: Any) -> None:
        found = differences()
        for difference in found:
            self.stdout.write(str(difference))
        if found:
            raise CommandError(f"{len(found)} differences")
        self.stdout.write(f"0 differences in {LedgerEntry.objects.count():,} entries")
