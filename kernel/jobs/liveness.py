"""Heartbeats of processes, and what they say about the health of the queue."""

from __future__ import annotations

import os
import socket
import threading
from datetime import timedelta

from django.db import DatabaseError, connection

from kernel.clock import read_now
from kernel.models import Job, ProcessHeartbeat

BEAT_SECONDS = 5
ALIVE_FOR = timedelta(seconds=20)


def beat(kind: str) -> None:
    name = f"{kind}@{socket.gethostname()}:{os.getpid()}"
    ProcessHeartbeat.objects.update_or_create(name=name, defaults={"kind": kind, "seen_at": read_now()})


def beat_in_background(kind: str) -> None:
    """Says that this process is alive, from a daemon thread, for as long as it lives."""

    def run() -> None:
        pause = threading.Event()
        while True:
            try:
                beat(kind)
            except DatabaseError:
                connection.close()
            pause.wait(BEAT_SECONDS)

    threading.Thread(target=run, daemon=True, name=f"{kind}-heartbeat").start()


def forget_dead_processes() -> None:
    ProcessHeartbeat.objects.filter(seen_at__lt=read_now() - timedelta(hours=1)).delete()


def alive(kind: str) -> int:
    return ProcessHeartbeat.objects.filter(kind=kind, seen_at__gte=read_now() - ALIVE_FOR).count()


def queue_depth() -> int:
    return Job.objects.filter(state__in=Job.OPEN).count()
