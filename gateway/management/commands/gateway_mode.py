"""`manage.py gateway_mode`: chooses whether a project's calls are observed or assembled."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.services.modes import set_mode
from teams.models import Project


class Command(BaseCommand):
    help = "Observes a project's calls (the default), or sends the session's own context in their place."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", required=True)
        parser.add_argument("--project", required=True)
        parser.add_argument("mode", choices=["observe", "assemble"])

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = {"team__name": options["team"], "name": options["project"]}
        project = Project.objects.filter(**wanted).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r} in team {options['team']!r}.")
        set_mode(project=project, assembles=options["mode"] == "assemble", actor="system")
        self.stdout.write(f"{project.name}: {options['mode']}")
