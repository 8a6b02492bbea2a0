"""The life of a job row: enqueue, claim, keep alive, finish, retry, cancel, send again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Mod
from django.db.models.lookups import Exact

from kernel.clock import db_now, read_now
from kernel.errors import Conflict
from kernel.ids import new_id
from kernel.jobs.registry import ClaimedJob, DeadJob, tell_of_death
from kernel.models import Job

LEASE = timedelta(seconds=60)
# Attempts in one life. The count itself never goes back, not even when a dead job is retried: it is the
# fencing token, and an old worker must not find its number in use again.
MAX_ATTEMPTS = 5
_LAST_ATTEMPT = Exact(Mod(F("attempt"), MAX_ATTEMPTS), 0)
# A message that was sent and not claimed within this time counts as lost.
RESEND_AFTER = timedelta(seconds=5)


def enqueue(
    *,
    kind: str,
    dedupe_key: str,
    project_id: str = "",
    subject_id: str = "",
    payload: dict[str, Any] | None = None,
    delay: timedelta = timedelta(0),
) -> tuple[Job, bool]:
    """The open job for this key and whether it is new; joins the caller's transaction."""
    now = read_now()
    job = Job(
        id=new_id("job"),
        kind=kind,
        dedupe_key=dedupe_key,
        project_id=project_id,
        subject_id=subject_id,
        payload=payload or {},
        run_at=now + delay,
        created_at=now,
    )
    Job.objects.bulk_create([job], ignore_conflicts=True)
    stored = Job.objects.filter(dedupe_key=dedupe_key, state__in=Job.OPEN).first()
    if stored is None:
        return enqueue(
            kind=kind,
            dedupe_key=dedupe_key,
            project_id=project_id,
            subject_id=subject_id,
            payload=payload,
            delay=delay,
        )
    is_new = stored.id == job.id
    if is_new and not delay:
        transaction.on_commit(lambda: send(job.id))
    return stored, is_new


def send(job_id: str) -> None:
    """Tells a worker about the job. Losing the message is harmless: the sweeper sends again."""
    from kernel.tasks import run_job

    try:
        run_job.apply_async((job_id,), retry=False)
    except (OSError, run_job.OperationalError):
        return
    Job.objects.filter(pk=job_id, state__in=Job.OPEN).update(sent_at=db_now())


def claim(job_id: str) -> ClaimedJob | None:
    """Takes the job if it is due and free; exactly one of many claimers gets it."""
    now = read_now()
    abandoned = Q(state=Job.State.RUNNING, lease_until__lt=now) & ~Q(_LAST_ATTEMPT)
    free = Q(state=Job.State.QUEUED, run_at__lte=now) | abandoned
    with transaction.atomic():
        taken = Job.objects.filter(free, pk=job_id).update(
            state=Job.State.RUNNING, attempt=F("attempt") + 1, lease_until=now + LEASE
        )
        if taken != 1:
            _bury_exhausted(job_id)
            return None
        job = Job.objects.get(pk=job_id)
    return ClaimedJob(
        id=job.id,
        kind=job.kind,
        project_id=job.project_id,
        subject_id=job.subject_id,
        payload=job.payload,
        stage=job.stage,
        attempt=job.attempt,
    )


def held(job: ClaimedJob) -> QuerySet[Job]:
    """The row, only while this claim still owns it."""
    return Job.objects.filter(pk=job.id, state=Job.State.RUNNING, attempt=job.attempt)


def heartbeat(job: ClaimedJob, progress: str | None = None) -> bool:
    changes: dict[str, Any] = {"lease_until": read_now() + LEASE}
    if progress is not None:
        changes["progress"] = progress
    return bool(held(job).update(**changes))


def save_stage(job: ClaimedJob, stage: dict[str, Any]) -> bool:
    """Remembers finished work, so that a retry does not pay for it again."""
    return bool(held(job).update(stage=stage, lease_until=read_now() + LEASE))


def complete(job: ClaimedJob, result: dict[str, Any]) -> bool:
    """Whether it was ours to complete; joins the caller's transaction. Staged work is not kept any longer."""
    return bool(
        held(job).update(
            state=Job.State.DONE,
            result=result,
            stage={},
            error="",
            progress="",
            lease_until=None,
            finished_at=db_now(),
        )
    )


def fail(job: ClaimedJob, reason: str, *, final: bool) -> None:
    if final or job.attempt % MAX_ATTEMPTS == 0:
        _bury(held(job), reason)
        return
    back_off = timedelta(seconds=2 ** (job.attempt % MAX_ATTEMPTS - 1))
    held(job).update(
        state=Job.State.QUEUED, error=reason, lease_until=None, run_at=read_now() + back_off, sent_at=None
    )


def retry(job_id: str) -> None:
    """Gives a dead or cancelled job a new life, unless the same work is open already."""
    ended = Job.objects.filter(pk=job_id, state__in=(Job.State.DEAD, Job.State.CANCELLED))
    try:
        with transaction.atomic():
            revived = ended.update(
                state=Job.State.QUEUED, error="", run_at=db_now(), sent_at=None, finished_at=None
            )
    except IntegrityError:
        raise Conflict("The same work is queued or running already.", code="job_not_retryable") from None
    if revived != 1:
        raise Conflict("Only a dead or cancelled job can be retried.", code="job_not_retryable")
    transaction.on_commit(lambda: send(job_id))


def cancel(job_id: str) -> None:
    cancelled = Job.objects.filter(pk=job_id, state=Job.State.QUEUED).update(
        state=Job.State.CANCELLED, finished_at=db_now()
    )
    if cancelled != 1:
        raise Conflict("Only a queued job can be cancelled.", code="job_not_cancellable")


def erase_jobs(subject_id: str) -> None:
    """Ends what is open about a subject and forgets the words of everything that was done about it."""
    about = Job.objects.filter(subject_id=subject_id)
    about.filter(state__in=Job.OPEN).update(state=Job.State.CANCELLED, lease_until=None, finished_at=db_now())
    about.update(payload={}, stage={}, result={}, error="", progress="")


def send_due() -> int:
    """Sends every job that is due and has no live message; returns how many."""
    now = read_now()
    unsent = Q(sent_at=None) | Q(sent_at__lt=now - RESEND_AFTER)
    due = Q(state=Job.State.QUEUED, run_at__lte=now) | Q(state=Job.State.RUNNING, lease_until__lt=now)
    ids = list(Job.objects.filter(unsent & due).order_by("run_at").values_list("pk", flat=True)[:500])
    for job_id in ids:
        send(job_id)
    return len(ids)


def _bury_exhausted(job_id: str) -> None:
    """A job whose last worker vanished has no attempt left: it is dead, with the reason."""
    lapsed = Job.objects.filter(pk=job_id, state=Job.State.RUNNING, lease_until__lt=read_now())
    _bury(lapsed.filter(_LAST_ATTEMPT), f"The worker vanished {MAX_ATTEMPTS} times while doing this.")


@transaction.atomic
def _bury(rows: QuerySet[Job], reason: str) -> None:
    """The death and what is told of it are one."""
    for job in rows.select_for_update():
        job.state, job.error, job.lease_until, job.finished_at = Job.State.DEAD, reason, None, read_now()
        job.save(update_fields=["state", "error", "lease_until", "finished_at"])
        tell_of_death(
            DeadJob(
                id=job.pk,
                kind=job.kind,
                project_id=job.project_id,
                subject_id=job.subject_id,
                reason=reason,
            )
        )
