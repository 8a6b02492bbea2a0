"""`manage.py gateway`: the process that stands between agents and models, until Ctrl-C."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.upstreams import configured_upstreams


class Command(BaseCommand):
    help = "Runs the gateway: agents use it as base_url and are budgeted."
    # They import all pages, which this process never shows.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=settings.GATEWAY_PORT)
        parser.add_argument("--workers", type=int, default=1, help="processes")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            vendors = sorted({upstream.vendor for upstream in configured_upstreams()})
        except ValueError as error:
            raise CommandError(str(error)) from None
        if not vendors:
            self.stderr.write(
                "No upstream is configured: set CTXBUDGET_OPENAI_API_KEY or CTXBUDGET_ANTHROPIC_API_KEY."
            )
        self.stdout.write(f"gateway on http://{options['host']}:{options['port']} for {vendors or 'nobody'}")
        self.stdout.flush()
        # Threads that come and go would each leave an arena of freed memory behind.
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")
        # In place of this process, which has loaded more than the server's parent needs.
        os.execv(sys.executable, gateway_command(**options))


def gateway_command(*, host: str, port: int, workers: int, **_: Any) -> list[str]:
    server = [sys.executable, "-m", "granian", "--interface", "asgi", "--no-ws", "--log-level", "error"]
    place = ["--host", host, "--port", str(port), "--workers", str(workers)]
    # Streams that are under way may take this long to end after SIGTERM; what is left is settled as heard.
    patience = ["--workers-kill-timeout", "30", "--respawn-failed-workers"]
    return [*server, *place, *patience, "gateway.asgi:application"]
