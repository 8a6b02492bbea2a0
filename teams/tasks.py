"""Jobs of teams: registered here, done by the services."""

from __future__ import annotations

from typing import Any

from kernel.jobs.registry import ClaimedJob, DeadJob, job_handler, on_job_death
from teams.webhooks import DELIVER_JOB, deliver, publish_death


@job_handler(DELIVER_JOB)
def deliver_webhook(job: ClaimedJob) -> dict[str, Any]:
    return deliver(job)


@on_job_death
def tell_webhooks(job: DeadJob) -> None:
    publish_death(job)
