"""The jobs of a project."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Query, Router

from kernel.errors import NotFound
from kernel.http.idempotency import idempotent
from kernel.http.replies import page_of, reply, reply_cached, row_before
from kernel.http.schemas import Cursor, Limit
from kernel.jobs import liveness, queue
from kernel.models import Job
from teams.auth import READERS, ApiRequest

router = Router(tags=["Jobs"])


@router.get("/jobs", response=dict[str, Any])
def list_jobs(
    request: ApiRequest, limit: Limit, cursor: Cursor, state: Annotated[str | None, Query(None)] = None
) -> HttpResponse:
    request.auth.require(*READERS)
    rows = Job.objects.filter(project_id=request.auth.project_id).order_by("-id")
    after = row_before(rows, cursor)
    if after is not None:
        rows = rows.filter(pk__lt=after)
    if state is not None:
        rows = rows.filter(state=state)
    page = page_of(list(rows[: limit + 1]), limit=limit, key=lambda row: row.pk, shape=job_json)
    return reply_cached(request, {**page, "workers_alive": liveness.alive("worker")})


@router.get("/jobs/{job_id}", response=dict[str, Any])
def get_job(request: ApiRequest, job_id: str) -> HttpResponse:
    request.auth.require(*READERS)
    return reply_cached(request, job_json(_find(request, job_id)))


@router.post("/jobs/{job_id}/retry", response=dict[str, Any])
@idempotent
def retry_job(request: ApiRequest, job_id: str) -> HttpResponse:
    request.auth.require("manage", "agent")
    queue.retry(_find(request, job_id).pk)
    return reply(job_json(_find(request, job_id)))


@router.post("/jobs/{job_id}/cancel", response=dict[str, Any])
@idempotent
def cancel_job(request: ApiRequest, job_id: str) -> HttpResponse:
    request.auth.require("manage", "agent")
    queue.cancel(_find(request, job_id).pk)
    return reply(job_json(_find(request, job_id)))


def _find(request: ApiRequest, job_id: str) -> Job:
    job = Job.objects.filter(pk=job_id, project_id=request.auth.project_id).first()
    if job is None:
        raise NotFound()
    return job


def job_json(job: Job) -> dict[str, Any]:
    return {
        "id": job.pk,
        "kind": job.kind,
        "state": job.state,
        "subject": job.subject_id,
        "attempt": job.attempt,
        "progress": job.progress or None,
        "result": job.result,
        "error": job.error or None,
        "created_at": job.created_at.isoformat().replace("+00:00", "Z"),
        "finished_at": job.finished_at.isoformat().replace("+00:00", "Z") if job.finished_at else None,
    }
