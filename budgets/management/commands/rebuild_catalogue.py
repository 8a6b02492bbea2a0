"""Rebuild the shipped model catalogue and say what changed."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from budgets.catalogue.building import build_catalogue, differences, rendered
from budgets.catalogue.facts import CATALOGUE_FILE


class Command(BaseCommand):
    help = "Rebuilds budgets/catalogue/models.json from genai-prices and overrides.json."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if not current")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        document = build_catalogue()
        text = rendered(document)
        shipped = CATALOGUE_FILE.read_text(encoding="utf-8") if CATALOGUE_FILE.exists() else '{"models": []}'
        for line in differences(json.loads(shipped)["models"], document["models"]):
            self.stdout.write(line)
        if text == shipped:
            self.stdout.write(f"The catalogue is current: {len(document['models']):,} models.")
            return
        if check:
            raise CommandError("The catalogue is not current; run rebuild_catalogue.")
        CATALOGUE_FILE.write_text(text, encoding="utf-8")
        self.stdout.write(f"Wrote {len(document['models']):,} models.")
