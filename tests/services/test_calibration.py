"""Counting is learned from reported usage, by a job, and taken over by new sessions only."""

from __future__ import annotations

import pytest

from budgets.models import ModelCalibration
from kernel.models import Job
from kernel.tasks import run_job
from sessions.models import AgentSession, Turn
from tests.api.client import Api

pytestmark = pytest.mark.django_db

MODEL = "claude-sonnet-4-5"


def opened(api: Api) -> AgentSession:
    return AgentSession.objects.get(pk=api.post("/sessions", {"model": MODEL}).json()["id"])


def talk(api: Api, session: AgentSession, turns: int, percent: int) -> None:
    """The provider reports `percent` of what we counted."""
    path = f"/sessions/{session.pk}"
    text = {"role": "user", "content": "the quick brown fox jumps over the lazy dog " * 80}
    for _ in range(turns):
        api.post(f"{path}/events", {"events": [{"type": "message", "message": text}]})
        counted = api.post(f"{path}/context", {"sticky": False}).json()["report"]["tokens"]
        usage = {"input_tokens": counted * percent // 100, "output_tokens": 1}
        api.post(f"{path}/events", {"events": [{"type": "usage", "usage": usage}]})


def run_calibrations() -> None:
    for job_id in Job.objects.filter(kind="calibrate_counter", state="queued").values_list("pk", flat=True):
        run_job(job_id)


def test_a_new_session_counts_with_what_was_learned(api: Api) -> None:
    first = opened(api)
    talk(api, first, turns=20, percent=80)
    assert Turn.objects.filter(assembled_tokens__isnull=False).count() == 20
    run_calibrations()
    learned = ModelCalibration.objects.get()
    assert 7_900 <= learned.ratio_bp <= 8_000
    second = opened(api)
    assert second.ratio_bp == learned.ratio_bp
    assert api.get(f"/sessions/{second.pk}/budget").json()["source"] == "calibrated"


def test_a_running_session_keeps_its_counts(api: Api) -> None:
    session = opened(api)
    talk(api, session, turns=20, percent=80)
    before = AgentSession.objects.get(pk=session.pk).parts
    run_calibrations()
    api.post(f"/sessions/{session.pk}/events", {"events": [{"type": "note", "text": "n"}]})
    after = AgentSession.objects.get(pk=session.pk)
    assert (after.parts, after.ratio_bp) == (before, 10_000)


def test_an_exact_vocabulary_is_not_corrected(api: Api) -> None:
    session = AgentSession.objects.get(pk=api.post("/sessions", {"model": "gpt-4"}).json()["id"])
    talk(api, session, turns=20, percent=120)
    assert not Job.objects.filter(kind="calibrate_counter").exists()
