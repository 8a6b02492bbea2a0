"""Jobs of the gateway: registered here, done by the services."""

from __future__ import annotations

from typing import Any

from gateway.services.call_jobs import KIND
from gateway.services.closing import close_orphan
from gateway.services.recording import is_open, record_call
from kernel.jobs.registry import ClaimedJob, job_handler


@job_handler(KIND)
def finish_call(job: ClaimedJob) -> dict[str, Any]:
    if is_open(job):
        hold_id = str(job.payload["hold"])
        return {"hold": hold_id, "closed": close_orphan(project_id=job.project_id, hold_id=hold_id)}
    return record_call(job)
