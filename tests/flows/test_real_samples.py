"""Real agents' transcripts go in whole, and the meters equal a hand count."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions.models import AgentSession, Message
from tests.api.client import Api

pytestmark = pytest.mark.django_db

BATCH = 500


def send(api: Api, session: str, format: str, events: list[Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for start in range(0, len(events), BATCH):
        reply = api.post(f"{session}/events", {"format": format, "events": events[start : start + BATCH]})
        assert reply.status_code == 201, reply.content
        answer = reply.json()
    return answer


def claude_code_files(folder: Path) -> Iterator[Path]:
    yield from sorted((folder / "claude-code").rglob("*.json*"))


def test_every_claude_code_transcript_goes_in(
    api: Api, shared_data: Path, recorded: Callable[[str], list[Any]]
) -> None:
    files = list(claude_code_files(shared_data))
    assert len(files) == 19
    for path in files:
        session = f"/sessions/{api.post('/sessions', {'model': 'claude-sonnet-4-5'}).json()['id']}"
        send(api, session, "claude-code", recorded(str(path.relative_to(shared_data))))
        context = api.post(f"{session}/context", {"format": "anthropic"})
        assert context.status_code == 200, (path.name, context.content)
        body = context.json()
        assert body["report"]["valid"] or body["messages"] == [], (path.name, body["report"])


def test_the_codex_rollout_equals_its_own_closing_totals(
    api: Api, shared_data: Path, recorded: Callable[[str], list[Any]]
) -> None:
    session_id = api.post("/sessions", {"model": "gpt-5"}).json()["id"]
    send(api, f"/sessions/{session_id}", "codex", recorded("codex/rollout-2025-11-17.jsonl"))
    session = AgentSession.objects.get(pk=session_id)
    # Stated by the rollout itself: 39 calls, 1,099,261 prompt tokens of which 1,027,328 were cached.
    assert session.turns == 39
    assert session.input_tokens + session.cache_read_tokens == 1_099_261
    assert session.cache_read_tokens == 1_027_328
    assert session.output_tokens == 22_305


@pytest.mark.parametrize("source", ["tau-bench", "swe-agent"])
def test_agent_runs_go_in_as_openai_messages(
    api: Api, shared_data: Path, recorded: Callable[[str], list[Any]], source: str
) -> None:
    runs = [json.loads(line) for line in (shared_data / source / "sessions.jsonl").read_text().splitlines()]
    for run in runs[:20]:
        session_id = api.post("/sessions", {"model": "gpt-4o"}).json()["id"]
        send(api, f"/sessions/{session_id}", "openai", run["messages"])
        opening = sum(1 for message in run["messages"][:1] if message["role"] == "system")
        assert Message.objects.filter(session_id=session_id).count() == len(run["messages"]) - opening
