"""P29: SQLite and Postgres answer the same conversation with the same bodies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.proofs.racing import FULL
from tests.proofs.transcript import Transcript
from tests.services_processes import start_postgres

PROFILES = ["ratio-default", "compact-chat", "long-story", "checkpoint-protocol", "stream-coding-agent"]
PROFILES = PROFILES if FULL else PROFILES[:2]
REPOSITORY = Path(__file__).resolve().parents[2]


def start(folder: Path, url: str) -> subprocess.Popen[bytes]:
    """The conversation in a process of its own, on a database that nobody used before."""
    (folder / "static").mkdir(parents=True)
    inherited = {n: v for n, v in os.environ.items() if not n.startswith(("CTXBUDGET_", "PYTEST_"))}
    own = {
        "CTXBUDGET_DATABASE_URL": url,
        "CTXBUDGET_DATA_DIR": str(folder),
        "CTXBUDGET_STATIC_ROOT": str(folder / "static"),
        "CTXBUDGET_ALLOWED_HOSTS": "testserver,localhost",
    }
    command = [sys.executable, "-m", "tests.proofs.transcript", str(folder / "transcript.json"), *PROFILES]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, cwd=REPOSITORY, env={**inherited, **own}, stdout=log, stderr=log)


def written(folder: Path, process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    assert process.wait(timeout=300) == 0, (folder / "log").read_text(errors="replace")[-3000:]
    entries: list[dict[str, Any]] = json.loads((folder / "transcript.json").read_text())
    return entries


def differences(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> list[str]:
    """As text: 1 and 1.0 are equal numbers and objects have no order, but answers have both."""
    texts = [(json.dumps(left), json.dumps(right)) for left, right in zip(one, other, strict=False)]
    found = [first_difference(left, right) for left, right in texts if left != right]
    return found + ([f"{len(one)} answers / {len(other)}"] if len(one) != len(other) else [])


def first_difference(left: str, right: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), len(left))
    return f"{left[:120]} … {left[max(0, at - 80) : at + 80]} / {right[max(0, at - 80) : at + 80]}"


def test_p29_both_databases_give_equal_bodies(tmp_path: Path) -> None:
    postgres = start_postgres(tmp_path / "pg")
    try:
        runs = [
            (tmp_path / "on-sqlite", f"sqlite:///{tmp_path}/on-sqlite/db.sqlite3"),
            (tmp_path / "on-postgres", postgres.url),
        ]
        started = [(folder, start(folder, url)) for folder, url in runs]
        on_sqlite, on_postgres = (written(folder, process) for folder, process in started)
    finally:
        postgres.stop()
    print(f"P29: {len(on_sqlite)} answers, {len(differences(on_sqlite, on_postgres))} differences")
    assert differences(on_sqlite, on_postgres) == []
    assert {entry["status"] for entry in on_sqlite} >= {200, 201, 202, 204, 404, 409, 413, 422}
    assert all(entry["status"] < 500 for entry in on_sqlite)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (b'{"items": [{"name": "a"}, {"name": "b"}]}', b'{"items": [{"name": "b"}, {"name": "a"}]}'),
        (b'{"tokens": 1}', b'{"tokens": 1.0}'),
        (b'{"a": 1, "b": 2}', b'{"b": 2, "a": 1}'),
        (b'{"parent": "sess_0123456789ABCDEFGHJKMN"}', b'{"parent": null}'),
    ],
)
def test_p29_an_order_a_type_or_an_id_that_differs_is_caught(said: bytes, heard: bytes) -> None:
    one, other = Transcript(), Transcript()
    one.note("GET /x", 200, "application/json", said)
    other.note("GET /x", 200, "application/json", heard)
    assert differences(one.entries, other.entries) != []
