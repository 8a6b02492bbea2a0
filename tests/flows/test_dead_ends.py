"""Dead ends in recorded runs: what is found is really a failure repeated, and little else is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sessions.core.dead_ends import find_dead_ends
from sessions.core.message import StoredMessage, stored_message
from sessions.core.reading import failure_line
from tests.api.client import Api
from tests.session_calls import opened, record

REPOSITORY = Path(__file__).resolve().parents[2]
LOOK_BACK = 61


@pytest.fixture(scope="module")
def recordings() -> dict[str, list[dict[str, Any]]]:
    """Messages of recorded agent runs by their id."""
    folder = Path(os.environ.get("CTXBUDGET_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")
    files = [folder / name / "sessions.jsonl" for name in ("tau-bench", "swe-agent")]
    if not all(file.is_file() for file in files):
        pytest.skip("the recorded runs are not here (CTXBUDGET_SHARED_DATA)")
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return {row["id"]: row["messages"] for row in rows}


def stored(bodies: list[dict[str, Any]]) -> list[StoredMessage]:
    return [
        stored_message(seq=seq, body=body, count_message=lambda _: 1)
        for seq, body in enumerate(bodies, start=1)
    ]


def test_only_repeated_failures_and_reverted_edits_are_found(
    recordings: dict[str, list[dict[str, Any]]],
) -> None:
    found = {}
    for name, bodies in recordings.items():
        messages = stored(bodies)
        for end, message in enumerate(messages, start=1):
            if message.role == "tool":
                for dead_end in find_dead_ends(messages[max(0, end - LOOK_BACK) : end]):
                    found[name, dead_end.key] = (dead_end, messages)
    assert 1 <= len(found) <= 5
    for dead_end, messages in found.values():
        results = [messages[seq - 1] for seq in dead_end.evidence if messages[seq - 1].role == "tool"]
        assert dead_end.kind == "edit_reverted" or all(failure_line(result) for result in results)


@pytest.mark.django_db
def test_a_recorded_dead_end_is_found_while_the_run_is_reported(
    api: Api, recordings: dict[str, list[dict[str, Any]]]
) -> None:
    bodies = next(rows for name, rows in recordings.items() if name.startswith("airline-8-t1"))
    session = opened(api, model="claude-3-opus")
    for body in bodies:
        record(api, session, {"type": "message", "message": body})
    (found,) = api.get(f"{session}/scratch/dead-ends").json()["items"]
    assert found["found_by"] == "repeated_failure"
    assert found["description"].startswith("book_reservation")
    assert "payment amount does not add up" in str(
        [api.get(f"{session}/messages?seq={seq}").json()["items"] for seq in found["evidence"]]
    )
