"""The jobs of a project: what runs, what waits, what failed and why; and whether anybody works."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_POST

from kernel.jobs import liveness
from kernel.models import Job
from sessions.services import by_hand
from sessions.views.actions import author_of
from teams.pages import PageRequest, page, visible_row

PAGE = 50


@page
def jobs(request: PageRequest) -> HttpResponse:
    rows = Job.objects.filter(project_id=request.visitor.project.pk).order_by("-id")
    state = request.GET.get("state", "")
    rows = rows.filter(state=state) if state in Job.State.values else rows
    before = request.GET.get("before", "").replace("\x00", "")[:40]
    rows = rows.filter(pk__lt=before) if before else rows
    found = list(rows.defer("payload", "stage")[: PAGE + 1])
    context = {
        "jobs": [{"row": job, "outcome": outcome(job)} for job in found[:PAGE]],
        "older": found[PAGE - 1].pk if len(found) > PAGE else None,
        "state": state,
        "states": Job.State.values,
        "workers": liveness.alive("worker"),
        "sweepers": liveness.alive("sweeper"),
        "depth": liveness.queue_depth(),
    }
    part = "jobs_table" if request.headers.get("HX-Request") else "jobs"
    return render(request, f"sessions/{part}.html", context)


def outcome(job: Job) -> str:
    """What came of it, in a line; whole documents stay in the API."""
    result = job.result if isinstance(job.result, dict) else {}
    if "before" in result and "after" in result:
        return f"{result['before']:,} → {result['after']:,} tokens"
    plain = {name: value for name, value in result.items() if isinstance(value, str | int)}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in plain.items())


@require_POST
@page
def change(request: PageRequest, job_id: str) -> HttpResponse:
    job = visible_row(request, Job.objects.all(), job_id)
    request.visitor.require("manage")
    act = by_hand.cancel_job if request.POST.get("action") == "cancel" else by_hand.retry_job
    act(project_id=job.project_id, job_id=job.pk, author=author_of(request))
    messages.success(request, "The job is cancelled." if act is by_hand.cancel_job else "The job runs again.")
    return HttpResponseRedirect(f"/jobs?project={job.project_id}")
