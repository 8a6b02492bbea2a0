"""What the safety benchmark measures through the API, and that it would notice a naive cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.safety_bench import check
from tests.api.client import Api

pytestmark = pytest.mark.django_db

BUDGET = 2_000


def runs(shared_data: Path) -> list[list[dict[str, Any]]]:
    lines = (shared_data / "tau-bench" / "sessions.jsonl").read_text().splitlines()
    return [json.loads(line)["messages"] for line in lines[:12]]


def points(messages: list[dict[str, Any]]) -> list[int]:
    """Every fourth model call of the second half."""
    calls = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    return calls[len(calls) // 2 :: 4]


def test_real_runs_are_cut_safely(api: Api, shared_data: Path) -> None:
    for messages in runs(shared_data):
        session, reported = f"/sessions/{api.post('/sessions', {'model': 'gpt-4o'}).json()['id']}", 0
        for point in points(messages):
            api.post(f"{session}/events", {"format": "openai", "events": messages[reported:point]})
            reported = point
            context = api.post(f"{session}/context", {"budget_tokens": BUDGET}).json()
            assert check(messages[:point], context, BUDGET) == []


def test_a_cut_by_recency_alone_is_caught(shared_data: Path) -> None:
    found: set[str] = set()
    for messages in runs(shared_data):
        for point in points(messages):
            for kept in (3, 4, 5):
                report = {"tokens_high": BUDGET, "valid": True}
                naive = {"system": "", "messages": messages[:point][-kept:], "report": report}
                found |= set(check(messages[:point], naive, BUDGET))
    assert found >= {"orphan_result", "lost_system", "lost_goal", "lost_last_user", "not_user_first"}
