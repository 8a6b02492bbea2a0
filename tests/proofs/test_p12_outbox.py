"""P12: a job exists if and only if its transaction committed, and ends, however often the broker is wiped."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.db import transaction

from kernel.jobs import queue
from kernel.models import Job
from sessions.services.archive import INDEX_JOB
from tests.api.client import Api
from tests.product_processes import ProductProcess, start_worker
from tests.proofs.crashes import wait_until
from tests.proofs.racing import FULL
from tests.session_calls import opened, row_of

JOBS = 200 if FULL else 40
SECONDS = 180
pytestmark = pytest.mark.django_db(transaction=True)


class _RolledBack(Exception):
    pass


@pytest.fixture(autouse=True)
def impatient_sweeper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "RESEND_AFTER", queue.timedelta(seconds=1))


@pytest.fixture
def workers() -> Iterator[list[ProductProcess]]:
    started = [start_worker(LEASE_SECONDS="2") for _ in range(2)]
    yield started
    for worker in started:
        worker.kill()


def wipe_broker() -> None:
    """Everything that was sent and not yet received is gone."""
    if settings.REDIS_URL:
        redis.Redis.from_url(settings.REDIS_URL).flushall()
        return
    for message in (Path(settings.DATA_DIR) / "queue").glob("*"):
        with suppress(OSError):
            message.unlink()


def enqueue_some(session: str, *, count: int) -> tuple[set[str], set[str]]:
    """The ids of jobs whose transactions committed, and of those that rolled back."""
    row = row_of(session)
    committed: set[str] = set()
    rolled_back: set[str] = set()
    for number in range(count):
        with suppress(_RolledBack), transaction.atomic():
            # Every tenth is nobody's work: it must end as dead, with a reason; five attempts take a while.
            kind = "nobody-does-this" if FULL and number % 10 == 9 else INDEX_JOB
            job, _ = queue.enqueue(
                kind=kind,
                dedupe_key=f"outbox:{number}",
                project_id=row.project_id,
                subject_id=row.pk,
                payload={"to_seq": 0},
            )
            if number % 4 == 3:
                rolled_back.add(job.pk)
                raise _RolledBack
            committed.add(job.pk)
    return committed, rolled_back


def test_p12_every_committed_job_ends_and_no_other_exists(
    api: Api, workers: list[ProductProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(api)
    stopped = threading.Event()

    def wipe_again_and_again() -> None:
        while not stopped.wait(0.2):
            wipe_broker()

    vandal = threading.Thread(target=wipe_again_and_again, daemon=True)
    vandal.start()
    committed, rolled_back = enqueue_some(session, count=JOBS)
    workers[0].kill()
    assert not Job.objects.filter(pk__in=rolled_back).exists()
    assert set(Job.objects.values_list("pk", flat=True)) == committed
    threading.Timer(5, stopped.set).start()

    def all_ended() -> bool:
        queue.send_due()
        return not Job.objects.filter(state__in=Job.OPEN).exists()

    wait_until(all_ended, "all jobs to end", seconds=SECONDS)
    stopped.set()
    vandal.join()
    ended = Job.objects.filter(pk__in=committed)
    assert ended.filter(state=Job.State.DONE, kind=INDEX_JOB).count() == ended.filter(kind=INDEX_JOB).count()
    dead = ended.filter(kind="nobody-does-this")
    assert {(job.state, job.attempt) for job in dead} <= {(Job.State.DEAD, queue.MAX_ATTEMPTS)}
    assert all("KeyError" in job.error for job in dead)
    assert bool(dead) is FULL


def test_p12_the_folder_of_the_queue_may_vanish(api: Api) -> None:
    if settings.REDIS_URL:
        pytest.skip("the embedded transport alone keeps its messages in a folder")
    session = opened(api)
    shutil.rmtree(Path(settings.DATA_DIR) / "queue", ignore_errors=True)
    committed, _ = enqueue_some(session, count=1)
    assert Job.objects.filter(pk__in=committed, state=Job.State.QUEUED).count() == 1
