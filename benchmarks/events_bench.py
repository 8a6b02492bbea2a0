"""One reported turn beside a bare endpoint with the same door and parser, on SQLite and on Postgres.

CPU is that of the web process: Postgres works in processes of its own, for both endpoints alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import cpu_seconds
from tests.services_processes import start_postgres

# Many short rounds: the best of them met the least other work.
ROUNDS = 60


def rows() -> list[tuple[str, str, str, str]]:
    return [measured_row("SQLite"), _row_on_postgres()]


def measured_row(database: str) -> tuple[str, str, str, str]:
    """Both take turns, so that other work on the machine meets both; the session stays below its window."""
    from benchmarks.sessions_bench import open_session, turn
    from benchmarks.wsgi import caller

    events = caller(f"/api/v1/sessions/{open_session('gpt-4o')}/events", lambda: {"events": turn()})
    bare = caller("/api/bare/insert", lambda: {"events": turn()})
    ours = peer = float("inf")
    for _ in range(ROUNDS):
        ours = min(ours, cpu_seconds(events, times=10, runs=1))
        peer = min(peer, cpu_seconds(bare, times=10, runs=1))
    work = f"POST /events, one turn on {database}, CPU per request"
    return work, f"{ours * 1000:.2f} ms", f"bare {peer * 1000:.2f} ms", f"{ours / peer:.2f} (aim ≤ 2.5)"


def _row_on_postgres() -> tuple[str, str, str, str]:
    """In a process of its own: Django keeps the database that it was set up with."""
    with tempfile.TemporaryDirectory(prefix="ctxbudget-bench-pg-") as folder:
        postgres = start_postgres(Path(folder) / "pg")
        try:
            command = [sys.executable, "-m", "benchmarks.events_bench", folder]
            environment = {**os.environ, "CTXBUDGET_DATABASE_URL": postgres.url}
            printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
        finally:
            postgres.stop()
    work, ours, peer, ratio = json.loads(printed.splitlines()[-1])
    return work, ours, peer, ratio


if __name__ == "__main__":
    from benchmarks.__main__ import set_up_django

    set_up_django(Path(sys.argv[1]))
    print(json.dumps(measured_row("Postgres")))
