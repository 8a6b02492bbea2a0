"""A real Celery worker takes jobs from the table, whatever carries the messages."""

from __future__ import annotations

import time

from django.db import transaction

from kernel.jobs import liveness, queue
from kernel.models import Job
from tests.product_processes import ProductProcess, start_worker


def test_a_worker_claims_a_job_as_soon_as_its_transaction_commits(live_worker: ProductProcess) -> None:
    job_id = _enqueue_unknown_kind()
    job = _wait_for_attempt(job_id)
    # Nobody handles this kind: the reason is kept where a person finds it.
    assert job.attempt >= 1
    assert "KeyError" in job.error


def test_a_worker_says_that_it_is_alive(live_worker: ProductProcess) -> None:
    assert liveness.alive("worker") == 1


def test_a_killed_worker_leaves_its_job_claimed_for_the_lease(transactional_db: None) -> None:
    worker = start_worker(fault="job.claimed:kill")
    job_id = _enqueue_unknown_kind()
    assert worker.process.wait(timeout=20) == -9
    job = Job.objects.get(pk=job_id)
    assert (job.state, job.attempt) == (Job.State.RUNNING, 1)


def _enqueue_unknown_kind() -> str:
    with transaction.atomic():
        job, _ = queue.enqueue(kind="nobody-does-this", dedupe_key="flow")
    return str(job.pk)


def _wait_for_attempt(job_id: str) -> Job:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        job = Job.objects.get(pk=job_id)
        if job.error:
            return job
        time.sleep(0.05)
    raise AssertionError(f"no worker took {job_id}")
