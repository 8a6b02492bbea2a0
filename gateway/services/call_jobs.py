"""The job of a call: the gateway is its first worker, and hands it over when the answer has passed.

It is written with the hold, so that a call is never forgotten: when the gateway dies, the lease ends and
a worker closes the call. Its payload holds no word of the conversation before the hand-over. The statements
are written by hand, because every call pays for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from kernel.clock import read_now
from kernel.fields import canonical_json
from kernel.ids import new_id
from kernel.models import Job
from kernel.rows import insert_rows

KIND = "gateway.call"
LEASE = timedelta(seconds=30)
RENEW_SECONDS = 10.0

_TABLE = Job._meta.db_table
# Until another worker claims it, the first claim is the gateway's.
_OURS = "state = 'running' AND attempt = 1"


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
    marks = ", ".join(["%s"] * len(job_ids))
    _run(f"lease_until = %s WHERE id IN ({marks})", [_sql_time(read_now() + LEASE), *job_ids])


def hand_over(job_id: str, payload: dict[str, Any]) -> bool:
    """In the transaction that closes the call; False when a worker took it for lost and closed it itself.

    The sweeper sends it on within a second. Sending from here would double what a call costs us.
    """
    values = [canonical_json(payload), _sql_time(read_now()), job_id]
    return _run("state = 'queued', lease_until = NULL, payload = %s, run_at = %s WHERE id = %s", values)


def end(job_id: str) -> None:
    """The call came to nothing: there is nothing to record."""
    _run(
        "state = 'done', lease_until = NULL, finished_at = %s WHERE id = %s", [_sql_time(read_now()), job_id]
    )


def _run(change: str, values: Sequence[Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {_TABLE} SET {change} AND {_OURS}", values)
        return bool(cursor.rowcount)


def _sql_time(moment: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(moment)
