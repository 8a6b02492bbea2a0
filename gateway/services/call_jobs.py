"""The job of a call: the gateway is its first worker, and hands it over when the answer has passed.

It is written with the hold, so that a call is never forgotten: when the gateway dies, the lease ends and
a worker closes the call. Its payload holds no word of the conversation before the hand-over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction

from kernel.clock import read_now
from kernel.ids import new_id
from kernel.jobs import queue
from kernel.models import Job
from kernel.rows import insert_rows

KIND = "gateway.call"
LEASE = timedelta(seconds=30)
RENEW_SECONDS = 10.0


def begin(*, project_id: str, session_id: str, hold_id: str) -> str:
    now = read_now()
    job = Job(
        id=new_id("job"),
        kind=KIND,
        dedupe_key=f"{KIND}:{hold_id}",
        project_id=project_id,
        subject_id=session_id,
        payload={"hold": hold_id},
        state=Job.State.RUNNING,
        attempt=1,
        lease_until=now + LEASE,
        run_at=now,
        created_at=now,
    )
    insert_rows([job])
    return str(job.pk)


def renew(job_ids: Sequence[str]) -> None:
    _ours(job_ids).update(lease_until=read_now() + LEASE)


def hand_over(job_id: str, payload: dict[str, Any]) -> bool:
    """In the transaction that closes the call; False when a worker took it for lost and closed it itself."""
    handed = _ours([job_id]).update(
        state=Job.State.QUEUED, payload=payload, run_at=read_now(), lease_until=None
    )
    if handed:
        transaction.on_commit(lambda: queue.send(job_id))
    return bool(handed)


def end(job_id: str) -> None:
    """The call came to nothing: there is nothing to record."""
    _ours([job_id]).update(state=Job.State.DONE, lease_until=None, finished_at=read_now())


def _ours(job_ids: Sequence[str]) -> Any:
    return Job.objects.filter(pk__in=job_ids, state=Job.State.RUNNING, attempt=1)
