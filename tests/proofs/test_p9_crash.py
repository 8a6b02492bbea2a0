"""P9: kill, raise or freeze at any fault point: fully before or fully after, and the work gets done once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from budgets.models import Hold, LedgerEntry
from kernel.faults import FAULT_POINTS
from kernel.jobs import queue
from kernel.models import Job
from sessions.models import Message
from tests.api.client import Api, LiveApi
from tests.core.providers.model_server import ModelServer
from tests.product_processes import ProductProcess, start_web, start_worker
from tests.proofs.crashes import (
    counting_model,
    model_environment,
    paid_calls,
    session_to_compact,
    sweep_until_finished,
    tears,
    unfreeze,
    wait_for_fault,
    wait_until,
)
from tests.proofs.racing import FULL
from tests.session_calls import opened, row_of, say, user

pytestmark = pytest.mark.django_db(transaction=True)

FAULTS = ("kill", "raise", "freeze")
WORKER_POINTS = (
    "job.claimed",
    "compact.planned",
    "compact.summarised.before",
    "compact.staged",
    "compact.commit.before",
    "compact.commit.summary",
    "compact.commit.manifest",
    "compact.commit.after",
    "job.done.before",
)
# Inside a transaction: a frozen process keeps its locks, and whoever wants them waits until it goes on.
LOCKING_POINTS = ("compact.commit.summary", "compact.commit.manifest")
WEB_POINTS = ("events.commit.before", "hold.commit.before", "settle.commit.before")
EVERY_DAY = {
    ("compact.staged", "kill"),
    ("compact.commit.manifest", "kill"),
    ("compact.commit.before", "freeze"),
}
CASES = [(point, fault) for point in WORKER_POINTS for fault in FAULTS if FULL or (point, fault) in EVERY_DAY]
WEB_CASES = [
    (point, fault)
    for point in WEB_POINTS
    for fault in FAULTS
    if FULL or (point, fault) == ("events.commit.before", "kill")
]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with counting_model() as server:
        yield server


@pytest.fixture
def manager(manage_key: str) -> Api:
    return Api(key=manage_key)


@pytest.fixture(autouse=True)
def impatient_sweeper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "RESEND_AFTER", queue.timedelta(seconds=0.5))


@pytest.fixture
def workers(model: ModelServer) -> Iterator[Any]:
    """Starts workers and ends those that are left, frozen ones included."""
    started: list[ProductProcess] = []

    def start(**options: str) -> ProductProcess:
        started.append(start_worker(**{**model_environment(model), **options}))
        return started[-1]

    yield start
    for worker in started:
        with suppress(ProcessLookupError):
            worker.kill()


def test_p9_every_fault_point_has_a_case() -> None:
    assert set(WORKER_POINTS) | set(WEB_POINTS) == FAULT_POINTS


@pytest.mark.parametrize(("point", "fault"), CASES)
def test_p9_a_worker_that_fails_leaves_nothing_torn(
    api: Api, manager: Api, model: ModelServer, workers: Any, point: str, fault: str
) -> None:
    session = session_to_compact(api, manager)
    faulty = workers(fault=f"{point}:{fault}")
    job_id = api.post(f"{session}/compact", {}).json()["job"]
    wait_for_fault(faulty, job_id, fault)
    assert tears(session) == []
    holds_locks = fault == "freeze" and point in LOCKING_POINTS
    if holds_locks:
        threading.Timer(3.0, unfreeze, [faulty]).start()
    else:
        say(api, session, user("Said while nobody was working."))
    healthy = workers() if fault != "raise" else faulty
    job = sweep_until_finished(job_id)
    if fault == "freeze" and not holds_locks:
        healthy.kill()
        unfreeze(faulty)
        _let_it_find_out(job)
    assert job.state == Job.State.DONE, job.error
    assert tears(session) == []
    row = row_of(session)
    assert (row.epoch, row.head_seq) == (1, 60 if holds_locks else 61)
    assert Message.objects.filter(session=row).count() == row.head_seq
    assert (len(model.asked), paid_calls(session)) == (1, 1)
    assert Job.objects.get(pk=job_id).result == job.result


def _let_it_find_out(job: Job) -> None:
    """The thawed worker, now alone, goes on with a job that is no longer its own, then takes the next one."""
    probe, _ = queue.enqueue(kind="nobody-does-this", dedupe_key=f"probe:{job.pk}")
    queue.send(probe.pk)
    wait_until(lambda: Job.objects.get(pk=probe.pk).attempt > 0, "the thawed worker to try the probe")


def test_p9_the_proof_catches_a_commit_without_a_transaction(api: Api, manager: Api, workers: Any) -> None:
    session = session_to_compact(api, manager)
    faulty = workers(fault="compact.commit.manifest:kill", MUTANT="no-transaction")
    job_id = api.post(f"{session}/compact", {}).json()["job"]
    wait_for_fault(faulty, job_id, "kill")
    assert tears(session) != []


@pytest.mark.parametrize(("point", "fault"), WEB_CASES)
def test_p9_a_web_process_that_fails_has_done_it_or_not(
    api: Api, agent_key: str, point: str, fault: str
) -> None:
    session = opened(api)
    hold = api.post(f"{session}/holds", {"estimate": {"cost_usd": "0.01"}}).json()["id"]
    path, body = {
        "events.commit.before": (
            f"{session}/events",
            {"events": [{"event_id": "e1", "type": "message", "message": user("hello")}]},
        ),
        "hold.commit.before": (f"{session}/holds", {"estimate": {"cost_usd": "0.02"}}),
        "settle.commit.before": (f"/holds/{hold}/settle", {"cost_usd": "0.01"}),
    }[point]
    headers = {"Idempotency-Key": "once"}
    web, url = start_web(fault=f"{point}:{fault}")
    try:
        with suppress(httpx2.HTTPError):
            client = LiveApi(url=url, key=agent_key)
            client._http.timeout = httpx2.Timeout(3)
            answer = client.post(path, body, headers=headers)
            assert answer.status_code >= 500
    finally:
        web.kill()
    assert _effects(session) == (0, 1, 0)
    again = [api.post(path, body, headers=headers) for _ in range(3)]
    assert {answer.status_code for answer in again} <= {200, 201}
    assert len({answer.content for answer in again}) == 1
    expected = {
        "events.commit.before": (1, 1, 0),
        "hold.commit.before": (0, 2, 0),
        "settle.commit.before": (0, 0, 1),
    }
    assert _effects(session) == expected[point]


def _effects(session: str) -> tuple[int, int, int]:
    """Messages, open holds and settled entries of the session."""
    row = row_of(session)
    return (
        Message.objects.filter(session=row).count(),
        Hold.objects.filter(session_id=row.pk, state=Hold.State.OPEN).count(),
        LedgerEntry.objects.filter(session_id=row.pk).count(),
    )
