"""The Celery application: configured from Django's settings, alive by database heartbeat."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import worker_process_init, worker_ready

from ctxbudget_site import folder_queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ctxbudget_site.settings")

folder_queue.register()
app = Celery("ctxbudget")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_configure.connect
def _make_queue_folders(sender: Celery, **_: Any) -> None:
    options = sender.conf.broker_transport_options or {}
    for name in ("data_folder_in", "data_folder_out", "control_folder"):
        if name in options:
            Path(options[name]).mkdir(parents=True, exist_ok=True)


@worker_process_init.connect
def _close_inherited_connections(**_: Any) -> None:
    from django.db import connections

    connections.close_all()


@worker_ready.connect
def _say_alive(**_: Any) -> None:
    from kernel.jobs.liveness import beat_in_background

    beat_in_background("worker")
