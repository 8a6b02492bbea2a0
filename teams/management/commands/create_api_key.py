"""`manage.py create_api_key`: prints a new key once; creates team and project when absent."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kernel.errors import ProblemError
from teams.models import Scope
from teams.services import create_api_key, ensure_project


class Command(BaseCommand):
    help = "Creates an API key and prints it; it is not shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", required=True)
        parser.add_argument("--project", required=True)
        parser.add_argument("--scope", action="append", required=True, choices=Scope.values)
        parser.add_argument("--name", default="")
        parser.add_argument("--acts-for", help="user name of the member an approve key acts for")

    def handle(self, *args: Any, **options: Any) -> None:
        project = ensure_project(team_name=options["team"], project_name=options["project"])
        member = None
        if options["acts_for"]:
            member = get_user_model().objects.filter(username=options["acts_for"]).first()
            if member is None:
                raise CommandError(f"There is no user {options['acts_for']!r}.")
        try:
            created = create_api_key(
                project=project, scopes=options["scope"], name=options["name"], acts_for=member
            )
        except ProblemError as problem:
            raise CommandError(problem.detail) from None
        self.stdout.write(created.secret)
