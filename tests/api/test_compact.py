"""POST /sessions/{id}/compact."""

from __future__ import annotations

import pytest

from kernel.models import Job
from tests.api.client import Api
from tests.session_calls import opened, row_of, say, turns, work_off

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(api: Api) -> str:
    path = opened(api)
    say(api, path, *turns(25))
    return path


def test_it_answers_202_with_the_job_and_the_plan(api: Api, session: str) -> None:
    answer = api.post(f"{session}/compact", {})
    assert answer.status_code == 202
    body = answer.json()
    assert body["job"].startswith("job_")
    plan = body["plan"]
    assert plan["possible"] is True
    assert (plan["from_seq"], plan["carried"]) == (1, [1])
    assert plan["fold_tokens"] + plan["keep_tokens"] == plan["before"]
    assert plan["after"] < plan["before"]


def test_it_needs_no_body(api: Api, session: str) -> None:
    assert api.post(f"{session}/compact").status_code == 202


def test_the_plan_is_what_the_worker_does(api: Api, session: str) -> None:
    plan = api.post(f"{session}/compact", {}).json()["plan"]
    (job,) = work_off()
    assert job.result["to_seq"] == plan["to_seq"]
    assert job.result["after"] <= plan["after"] + 819  # what was learned comes on top, within its share


def test_a_dry_run_answers_200_and_queues_nothing(api: Api, session: str) -> None:
    Job.objects.all().delete()
    answer = api.post(f"{session}/compact", {"dry_run": True})
    assert answer.status_code == 200
    assert "job" not in answer.json()
    assert not Job.objects.exists()


def test_a_dry_run_of_what_cannot_help_says_why(api: Api) -> None:
    plan = api.post(f"{opened(api)}/compact", {"dry_run": True}).json()["plan"]
    assert (plan["possible"], plan["reason"]) == (False, "nothing_to_fold")
    assert plan["detail"]


def test_the_same_key_gives_the_same_job(api: Api, session: str) -> None:
    headers = {"Idempotency-Key": "c1"}
    first = api.post(f"{session}/compact", {}, headers=headers)
    second = api.post(f"{session}/compact", {}, headers=headers)
    assert first.content == second.content
    assert second.headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("body", [{"dry_run": 1}, {"dry_run": "yes"}, {"force": True}])
def test_it_refuses_a_bad_body(api: Api, session: str, body: dict[str, object]) -> None:
    assert api.post(f"{session}/compact", body).status_code == 422


def test_readers_may_not_compact(api: Api, session: str, read_key: str) -> None:
    assert api.post(f"{session}/compact", {}, key=read_key).status_code == 403


def test_another_tenants_session_does_not_exist(api: Api, session: str, other_key: str) -> None:
    assert api.post(f"{session}/compact", {}, key=other_key).status_code == 404
    assert row_of(session).epoch == 0
