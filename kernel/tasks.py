"""The one Celery task: do the job with this id."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import structlog
from celery import shared_task
from django.db import DatabaseError, connection

from kernel.faults import fault
from kernel.jobs import queue
from kernel.jobs.registry import ClaimedJob, JobFailed, handler_for

log = structlog.get_logger(__name__)

_HEARTBEAT_SECONDS = queue.LEASE.total_seconds() / 4


@shared_task(name="kernel.run_job", acks_late=True, reject_on_worker_lost=True, ignore_result=True)
def run_job(job_id: str) -> None:
    job = queue.claim(job_id)
    if job is None:
        return
    fault("job.claimed")
    try:
        with _kept_alive(job):
            result = handler_for(job.kind)(job)
    except JobFailed as failure:
        queue.fail(job, str(failure), final=failure.final)
    except Exception as error:
        log.exception("job failed", job=job.id, kind=job.kind)
        queue.fail(job, f"{type(error).__name__}: {error}"[:2000], final=False)
    else:
        fault("job.done.before")
        queue.complete(job, result)


@contextmanager
def _kept_alive(job: ClaimedJob) -> Iterator[None]:
    """Renews the lease from a thread of its own while the handler works."""
    stopped = threading.Event()

    def beat() -> None:
        try:
            while not stopped.wait(_HEARTBEAT_SECONDS):
                with suppress(DatabaseError):
                    # A beat that was missed is made up by the next one; the lease allows for three.
                    queue.heartbeat(job)
        finally:
            connection.close()

    thread = threading.Thread(target=beat, daemon=True, name=f"lease-{job.id}")
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
