"""P11: a job that is delivered five times, in parallel or after its lease, has the effect of one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernel.jobs import queue
from kernel.models import Job
from kernel.tasks import run_job
from tests.api.client import Api
from tests.product_processes import start_worker
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
from tests.proofs.racing import race
from tests.session_calls import row_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def session(api: Api, manage_key: str) -> str:
    return session_to_compact(api, Api(key=manage_key))


@pytest.fixture
def sent_nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Jobs are written and nobody is told: the test delivers them itself."""
    monkeypatch.setattr(queue, "send", lambda job_id: None)
    yield


def test_p11_five_parallel_deliveries_have_the_effect_of_one(
    api: Api, session: str, sent_nowhere: None
) -> None:
    job_id = api.post(f"{session}/compact", {}).json()["job"]
    race(5, lambda _: run_job(job_id))
    job = Job.objects.get(pk=job_id)
    assert (job.state, job.attempt) == (Job.State.DONE, 1)
    assert tears(session) == []


def test_p11_a_delivery_after_the_end_does_nothing(api: Api, session: str, sent_nowhere: None) -> None:
    job_id = api.post(f"{session}/compact", {}).json()["job"]
    for _ in range(5):
        run_job(job_id)
    assert (Job.objects.get(pk=job_id).attempt, row_of(session).epoch) == (1, 1)


def test_p11_real_workers_that_are_all_told_do_it_once(api: Api, session: str) -> None:
    with counting_model() as model:
        workers = [start_worker(**model_environment(model)) for _ in range(2)]
        try:
            job_id = api.post(f"{session}/compact", {}).json()["job"]
            for _ in range(4):
                queue.send(job_id)
            assert sweep_until_finished(job_id).state == Job.State.DONE
        finally:
            for worker in workers:
                worker.kill()
        assert tears(session) == []
        assert (len(model.asked), paid_calls(session)) == (1, 1)


def test_p11_the_proof_catches_a_missing_fence(
    api: Api, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the fence a worker that lost its lease commits a second time, or finishes another's job."""
    monkeypatch.setattr(queue, "RESEND_AFTER", queue.timedelta(seconds=0.5))
    with counting_model() as model:
        environment = {**model_environment(model), "MUTANT": "no-fence"}
        frozen = start_worker(fault="compact.summarised.before:freeze", **environment)
        job_id = api.post(f"{session}/compact", {}).json()["job"]
        wait_for_fault(frozen, job_id, "freeze")
        other = start_worker(**environment)
        try:
            sweep_until_finished(job_id)
            unfreeze(frozen)
            wait_until(lambda: len(model.asked) == 2, "the old worker to pay once more")
        finally:
            frozen.kill()
            other.kill()
