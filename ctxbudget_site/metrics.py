"""Prometheus metrics of this process."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, Gauge, Histogram, generate_latest

from kernel.jobs import liveness

REQUEST_SECONDS = Histogram("ctxbudget_request_seconds", "Time to answer a request", ["method", "status"])
QUEUE_DEPTH = Gauge("ctxbudget_open_jobs", "Jobs queued or running")
WORKERS_ALIVE = Gauge("ctxbudget_workers_alive", "Workers whose heartbeat is fresh")


def metrics(request: HttpRequest) -> HttpResponse:
    QUEUE_DEPTH.set(liveness.queue_depth())
    WORKERS_ALIVE.set(liveness.alive("worker"))
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)
