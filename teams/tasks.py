"""Jobs of teams: registered here, done by the services."""

from __future__ import annotations

from typing import Any

from kernel.jobs.registry import ClaimedJob, job_handler
from teams.webhooks import DELIVER_JOB, deliver


@job_handler(DELIVER_JOB)
def deliver_webhook(job: ClaimedJob) -> dict[str, Any]:
    return deliver(job)
