"""/jobs: what workers do for a project."""

from __future__ import annotations

import pytest

from kernel.jobs import queue
from kernel.models import Job
from teams.models import Project
from tests.api.client import Api
from tests.session_calls import opened, say, turns, work_off

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(api: Api) -> str:
    session = opened(api)
    say(api, session, *turns(25))
    job_id: str = api.post(f"{session}/compact", {}).json()["job"]
    return job_id


def test_it_shows_a_job_from_queued_to_done(api: Api, job: str) -> None:
    queued = api.get(f"/jobs/{job}").json()
    assert (queued["kind"], queued["state"], queued["attempt"]) == ("compact_session", "queued", 0)
    assert queued["finished_at"] is None
    work_off()
    done = api.get(f"/jobs/{job}").json()
    assert (done["state"], done["attempt"], done["error"]) == ("done", 1, None)
    assert done["result"]["after"] < done["result"]["before"]
    assert done["finished_at"] is not None


def test_it_lists_them_by_state_with_the_workers_that_are_alive(api: Api, job: str) -> None:
    body = api.get("/jobs?state=queued").json()
    assert job in [row["id"] for row in body["items"]]
    assert body["workers_alive"] == 0
    work_off()
    assert api.get("/jobs?state=queued").json()["items"] == []


def test_a_dead_job_is_retried(api: Api, job: str) -> None:
    claimed = queue.claim(job)
    assert claimed is not None
    queue.fail(claimed, "the reason", final=True)
    dead = api.get(f"/jobs/{job}").json()
    assert (dead["state"], dead["error"]) == ("dead", "the reason")
    assert api.post(f"/jobs/{job}/retry").json()["state"] == "queued"
    work_off()
    assert api.get(f"/jobs/{job}").json()["state"] == "done"


def test_a_queued_job_is_cancelled_and_may_be_retried(api: Api, job: str) -> None:
    assert api.post(f"/jobs/{job}/cancel").json()["state"] == "cancelled"
    assert work_off() == []
    assert api.post(f"/jobs/{job}/cancel").json()["code"] == "job_not_cancellable"
    assert api.post(f"/jobs/{job}/retry").json()["state"] == "queued"


def test_a_finished_job_is_neither_retried_nor_cancelled(api: Api, job: str) -> None:
    work_off()
    assert api.post(f"/jobs/{job}/retry").json()["code"] == "job_not_retryable"
    assert api.post(f"/jobs/{job}/cancel").json()["code"] == "job_not_cancellable"


def test_another_tenants_job_does_not_exist(api: Api, job: str, other_key: str) -> None:
    assert api.get(f"/jobs/{job}", key=other_key).status_code == 404
    assert api.post(f"/jobs/{job}/cancel", key=other_key).status_code == 404
    assert api.get("/jobs", key=other_key).json()["items"] == []


def test_jobs_without_a_project_are_nobodys(api: Api, project: Project) -> None:
    hidden, _ = queue.enqueue(kind="housekeeping", dedupe_key="h")
    assert api.get(f"/jobs/{hidden.pk}").status_code == 404
    assert Job.objects.filter(pk=hidden.pk).exists()


def test_depth_and_workers_are_said_by_readyz(api: Api, job: str) -> None:
    from django.test import Client

    body = Client().get("/readyz").json()
    assert body["queue_depth"] >= 1
    assert body["workers"] == 0
