"""Durable jobs: written with the transaction, claimed once, fenced, backed off, dead with a reason."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from kernel.clock import read_now
from kernel.errors import Conflict
from kernel.jobs import queue, registry
from kernel.jobs.registry import ClaimedJob, DeadJob, JobFailed, _handlers
from kernel.models import Job
from kernel.tasks import run_job
from tests.conftest import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids that were handed to the broker."""
    ids: list[str] = []
    monkeypatch.setattr("kernel.tasks.run_job.apply_async", lambda args, **_: ids.append(args[0]))
    return ids


def enqueued(key: str = "k", **fields: Any) -> Job:
    return queue.enqueue(kind="test", dedupe_key=key, **fields)[0]


def claimed(job: Job) -> ClaimedJob:
    found = queue.claim(job.pk)
    assert found is not None
    return found


def fresh(job: Job | ClaimedJob) -> Job:
    return Job.objects.get(pk=job.id)


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the handler does, one entry per run: a result to return or an exception to raise."""
    script: list[Any] = []

    def run(job: ClaimedJob) -> dict[str, Any]:
        step = script.pop(0)
        if isinstance(step, Exception):
            raise step
        found: dict[str, Any] = step
        return found

    monkeypatch.setitem(_handlers, "test", run)
    return script


@pytest.mark.django_db(transaction=True)
def test_it_is_sent_when_its_transaction_commits_and_not_before(sent: list[str]) -> None:
    with transaction.atomic():
        job = enqueued()
        assert sent == []
    assert sent == [job.pk]
    assert fresh(job).sent_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_transaction_leaves_no_job(sent: list[str]) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        enqueued()
        raise ZeroDivisionError
    assert sent == [] and not Job.objects.exists()


def test_one_key_has_one_open_job() -> None:
    first = enqueued()
    second, is_new = queue.enqueue(kind="test", dedupe_key="k")
    assert (second.pk, is_new) == (first.pk, False)
    queue.complete(claimed(first), {})
    assert enqueued().pk != first.pk


def test_a_job_is_claimed_once() -> None:
    job = enqueued()
    assert claimed(job).attempt == 1
    assert queue.claim(job.pk) is None


def test_a_delayed_job_is_not_claimed_early(clock: Clock) -> None:
    job = enqueued(delay=timedelta(minutes=5))
    assert queue.claim(job.pk) is None
    clock.advance(minutes=6)
    assert claimed(job)


def test_an_abandoned_job_is_claimed_again_after_its_lease(clock: Clock) -> None:
    job = enqueued()
    first = claimed(job)
    clock.advance(seconds=59)
    assert queue.claim(job.pk) is None
    clock.advance(seconds=2)
    assert claimed(job).attempt == first.attempt + 1


def test_a_heartbeat_keeps_the_lease(clock: Clock) -> None:
    job = enqueued()
    mine = claimed(job)
    clock.advance(seconds=50)
    assert queue.heartbeat(mine, "half way")
    clock.advance(seconds=50)
    assert queue.claim(job.pk) is None
    assert fresh(job).progress == "half way"


def test_whoever_lost_the_lease_changes_nothing_any_more(clock: Clock) -> None:
    job = enqueued()
    old = claimed(job)
    clock.advance(seconds=61)
    new = claimed(job)
    assert not queue.heartbeat(old)
    assert not queue.save_stage(old, {"paid": True})
    assert not queue.complete(old, {"by": "old"})
    queue.fail(old, "too late", final=True)
    assert (fresh(job).state, fresh(job).stage) == (Job.State.RUNNING, {})
    assert queue.complete(new, {"by": "new"})
    assert fresh(job).result == {"by": "new"}


def test_a_retried_job_does_not_reuse_the_old_fence(clock: Clock) -> None:
    job = enqueued()
    old = claimed(job)
    queue.fail(old, "no", final=True)
    queue.retry(job.pk)
    new = claimed(job)
    assert new.attempt > old.attempt
    assert not queue.complete(old, {})


def test_staged_work_is_handed_to_the_next_attempt_and_forgotten_at_the_end(clock: Clock) -> None:
    job = enqueued()
    queue.save_stage(claimed(job), {"draft": "expensive"})
    clock.advance(seconds=61)
    again = claimed(job)
    assert again.stage == {"draft": "expensive"}
    queue.complete(again, {})
    assert fresh(job).stage == {}


def test_failures_back_off_and_the_fifth_is_the_last(handler: list[Any], clock: Clock) -> None:
    job = enqueued()
    handler += [JobFailed("not now")] * 5
    waits = []
    for _ in range(5):
        run_job(job.pk)
        waits.append(fresh(job).run_at - read_now())
        clock.advance(minutes=1)
    assert [round(wait.total_seconds()) for wait in waits[:4]] == [1, 2, 4, 8]
    ended = fresh(job)
    assert (ended.state, ended.attempt, ended.error) == (Job.State.DEAD, 5, "not now")


def test_a_final_failure_is_not_tried_again(handler: list[Any]) -> None:
    job = enqueued()
    handler += [JobFailed("never", final=True)]
    run_job(job.pk)
    assert (fresh(job).state, fresh(job).error) == (Job.State.DEAD, "never")


def test_an_unexpected_error_is_kept_with_its_name(handler: list[Any]) -> None:
    job = enqueued()
    handler += [ValueError("odd")]
    run_job(job.pk)
    assert (fresh(job).state, fresh(job).error) == (Job.State.QUEUED, "ValueError: odd")


def test_a_later_success_clears_the_error(handler: list[Any], clock: Clock) -> None:
    job = enqueued()
    handler += [ValueError("odd"), {"ok": True}]
    run_job(job.pk)
    clock.advance(seconds=5)
    run_job(job.pk)
    assert (fresh(job).state, fresh(job).error, fresh(job).result) == (Job.State.DONE, "", {"ok": True})


def test_a_job_whose_worker_vanishes_five_times_is_dead_with_the_reason(clock: Clock) -> None:
    job = enqueued()
    for _ in range(5):
        claimed(job)
        clock.advance(seconds=61)
    assert queue.claim(job.pk) is None
    assert (fresh(job).state, fresh(job).error) == (
        Job.State.DEAD,
        "The worker vanished 5 times while doing this.",
    )


def test_the_sweeper_sends_what_is_due_and_lost(sent: list[str], clock: Clock) -> None:
    lost, delayed, running = enqueued("a"), enqueued("b", delay=timedelta(hours=1)), enqueued("c")
    claimed(running)
    assert queue.send_due() == 1
    assert sent == [lost.pk]
    assert queue.send_due() == 0
    clock.advance(seconds=6)
    assert queue.send_due() == 1
    clock.advance(hours=2)
    queue.send_due()
    assert set(sent[2:]) == {lost.pk, delayed.pk, running.pk}


def test_a_broker_that_is_down_does_not_disturb_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no broker")

    monkeypatch.setattr("kernel.tasks.run_job.apply_async", refuse)
    job = enqueued()
    queue.send(job.pk)
    assert fresh(job).sent_at is None


def test_a_death_is_told_once_and_only_when_it_is_one(
    handler: list[Any], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[DeadJob] = []
    monkeypatch.setattr(registry, "_death_watchers", [told.append])
    handler += [JobFailed("not yet"), JobFailed("gone for good", final=True)]
    job = enqueued()
    run_job(job.pk)
    assert told == []
    clock.advance(seconds=10)
    run_job(job.pk)
    run_job(job.pk)
    assert [(dead.id, dead.reason) for dead in told] == [(job.pk, "gone for good")]


@pytest.mark.parametrize("state", [Job.State.QUEUED, Job.State.RUNNING, Job.State.DONE])
def test_only_dead_and_cancelled_jobs_are_retried(state: str) -> None:
    job = enqueued()
    Job.objects.update(state=state)
    with pytest.raises(Conflict, match="Only a dead or cancelled job"):
        queue.retry(job.pk)


def test_a_dead_job_is_not_retried_beside_the_same_open_work() -> None:
    job = enqueued()
    queue.fail(claimed(job), "no", final=True)
    enqueued()
    with pytest.raises(Conflict, match="queued or running already"):
        queue.retry(job.pk)


def test_only_a_queued_job_is_cancelled() -> None:
    job = enqueued()
    queue.cancel(job.pk)
    assert fresh(job).state == Job.State.CANCELLED
    running = enqueued("other")
    claimed(running)
    with pytest.raises(Conflict, match="Only a queued job"):
        queue.cancel(running.pk)
