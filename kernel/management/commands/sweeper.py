"""`manage.py sweeper`: sends lost jobs again and runs the registered housekeeping."""

from __future__ import annotations

import signal
import threading
from typing import Any

import structlog
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, connection

from kernel.jobs import liveness, queue
from kernel.jobs.registry import sweeps

log = structlog.get_logger(__name__)


class Command(BaseCommand):
    help = "Sends due jobs that lost their message and runs periodic housekeeping."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--interval", type=float, default=1.0, help="seconds between rounds")
        parser.add_argument("--once", action="store_true", help="one round, then exit")

    def handle(self, *args: Any, **options: Any) -> None:
        stopped = threading.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: stopped.set())
        while True:
            _one_round()
            if options["once"] or stopped.wait(options["interval"]):
                return


def _one_round() -> None:
    for step in (queue.send_due, lambda: liveness.beat("sweeper"), liveness.forget_dead_processes, *sweeps()):
        try:
            step()
        except DatabaseError:
            # The next round tries again; nothing here is needed only once.
            log.exception("sweep step failed")
            connection.close()
