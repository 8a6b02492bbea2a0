"""`manage.py demo`: fills a project with a week of sessions, so that every page has something to show."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from ctxbudget_site.bootstrap import ensure_first_use, prepare_database
from ctxbudget_site.demo.week import live_through
from sessions.models import AgentSession
from teams.models import Role
from teams.services import ensure_project, set_member


class Command(BaseCommand):
    help = "Fills the project demo/shop with realistic sessions, caps, a paused one and failures."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", default="demo")
        parser.add_argument("--project", default="shop")

    def handle(self, *args: Any, **options: Any) -> None:
        settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
        prepare_database()
        ensure_first_use(settings.DATA_DIR)
        project = ensure_project(team_name=options["team"], project_name=options["project"])
        if AgentSession.objects.of_project(project.pk).exists():
            raise CommandError(f"The project {project} has sessions already; choose another with --project.")
        admin = User.objects.filter(is_superuser=True).order_by("pk").first()
        if admin is not None:
            set_member(team=project.team, user=admin, role=Role.OWNER, actor="system")
        count = live_through(project)
        self.stdout.write(f"The project {project} has {count} sessions now. Open {settings.PUBLIC_URL}/.")
