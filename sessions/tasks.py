"""Jobs of sessions: registered here, done by the services."""

from __future__ import annotations

from typing import Any

from kernel.jobs.registry import ClaimedJob, job_handler
from sessions.services.compaction import run_compaction
from sessions.services.compaction_requests import COMPACT_JOB


@job_handler(COMPACT_JOB)
def compact_session(job: ClaimedJob) -> dict[str, Any]:
    return run_compaction(job)
