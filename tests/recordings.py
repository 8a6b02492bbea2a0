"""Where the real recordings are; tests that need them are skipped where they are absent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture
def shared_data() -> Path:
    folder = Path(os.environ.get("CTXBUDGET_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the recorded conversations are not here (CTXBUDGET_SHARED_DATA)")
    return folder


@pytest.fixture
def recorded(shared_data: Path) -> Any:
    """Reads a recording's events: JSON lines, a list, a wrapped list, or a log with JSON in it."""

    def read(name: str) -> list[Any]:
        text = (shared_data / name).read_text(encoding="utf-8")
        try:
            document = json.loads(text)
        except ValueError:
            return events_in_lines(text) or events_in_log(text)
        if isinstance(document, dict):
            return document.get("loglines", [document])
        return document

    return read


def events_in_lines(text: str) -> list[Any]:
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return []


def events_in_log(text: str) -> list[Any]:
    """Every JSON object that starts a line of a log."""
    decoder, events, at = json.JSONDecoder(), [], 0
    while (start := text.find("\n {\n", at)) >= 0:
        try:
            event, at = decoder.raw_decode(text, start + 2)
            events.append(event)
        except ValueError:
            at = start + 4
    return events
