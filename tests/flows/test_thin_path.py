"""One agent's day: key, events, context, compaction by a real worker, refusal at a cap, one page."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.api.client import LiveApi

pytestmark = pytest.mark.django_db(transaction=True)


def conversation(turns: int) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for turn in range(turns):
        question = (
            f"Question {turn}: please look at src/module_{turn}.py and say what it does. " + "detail " * 40
        )
        answer = (
            f"Module {turn} parses orders and writes totals. Decision: keep format v{turn}. " + "word " * 60
        )
        for role, content in (("user", question), ("assistant", answer)):
            message = {"role": role, "content": content}
            events.append({"event_id": f"{role}-{turn}", "type": "message", "message": message})
    return events


def wait_for_job(api: LiveApi, job_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        job: dict[str, Any] = api.get(f"/jobs/{job_id}").json()
        if job["state"] in ("done", "dead"):
            return job
        time.sleep(0.1)
    raise AssertionError("the worker did not finish the job in 30 seconds")


def test_an_agent_is_budgeted_from_its_first_event_to_its_last_dollar(
    live_worker: object, live_api: LiveApi, manage_key: str
) -> None:
    session = live_api.post("/sessions", {"model": "gpt-4", "goal": "Ship the release"}).json()
    path = f"/sessions/{session['id']}"

    recorded = live_api.post(f"{path}/events", {"events": conversation(60)})
    assert recorded.status_code == 201, recorded.content
    budget = recorded.json()["budget"]
    assert budget["flags"]["compact"], budget

    job_id = live_api.get("/jobs").json()["items"][0]["id"]
    job = wait_for_job(live_api, job_id)
    assert job["state"] == "done", job
    assert job["result"]["after"] < job["result"]["before"]

    context = live_api.post(f"{path}/context", {"max_output": 500}).json()
    assert context["report"]["valid"]
    assert context["report"]["tokens"] <= context["report"]["max_input"] <= 6553
    assert "Ship the release" in context["system"]
    assert context["report"]["dropped_unsummarised"] == 0
    assert len(live_api.get(f"{path}/messages?limit=200").json()["items"]) == 120

    cap = {"scope": "session", "scope_id": session["id"], "limit_usd": "0.05", "period": "total"}
    assert live_api.post("/caps", cap, key=manage_key).status_code == 201
    hold = live_api.post(f"{path}/holds", {"estimate": {"cost_usd": "0.04"}})
    assert hold.status_code == 201, hold.content
    settled = live_api.post(f"/holds/{hold.json()['id']}/settle", {"cost_usd": "0.04"})
    assert settled.status_code == 200, settled.content
    refused = live_api.post(f"{path}/holds", {"estimate": {"cost_usd": "0.04"}})
    assert refused.status_code == 402
    assert refused.json()["code"] == "cap_reached"
    assert live_api.get(path).json()["state"] == "paused"
