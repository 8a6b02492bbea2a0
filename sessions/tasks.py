"""Jobs of sessions: registered here, done by the services."""

from __future__ import annotations

from typing import Any

from kernel.jobs.registry import ClaimedJob, DeadJob, job_handler, on_job_death
from sessions.services import erasure as erasure  # registers its sweep
from sessions.services.archive import INDEX_JOB, index_up_to
from sessions.services.calibration import CALIBRATE_JOB, run_calibration
from sessions.services.compaction import run_compaction, tell_of_dead_compaction
from sessions.services.compaction_requests import COMPACT_JOB
from sessions.services.frames import frame_of
from sessions.services.store import find_session


@job_handler(COMPACT_JOB)
def compact_session(job: ClaimedJob) -> dict[str, Any]:
    return run_compaction(job)


@job_handler(INDEX_JOB)
def index_archive(job: ClaimedJob) -> dict[str, Any]:
    session = find_session(project_id=job.project_id, ref=job.subject_id)
    index_up_to(session, frame_of(session), int(job.payload["to_seq"]))
    return {"indexed_to_seq": job.payload["to_seq"]}


@job_handler(CALIBRATE_JOB)
def calibrate_counter(job: ClaimedJob) -> dict[str, Any]:
    return run_calibration(job)


@on_job_death
def tell_session(job: DeadJob) -> None:
    tell_of_dead_compaction(job)
