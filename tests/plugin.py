"""Chooses the database of a test run before Django reads its settings.

Loaded by `-p tests.plugin`, because pytest-django sets Django up before any conftest is read.
CTXBUDGET_TEST_DB is `sqlite` (the default) or `postgres`; the latter comes with a real Redis. Under xdist the
controller starts the services and the workers find them through the environment.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.services_processes import Service, start_postgres, start_redis

_CHOICE = "PYTEST_CTXBUDGET_DB"
_FOLDER = "PYTEST_CTXBUDGET_FOLDER"
_REDIS = "PYTEST_CTXBUDGET_REDIS"
_FIGURE = re.compile(r"P\d+: ")


def chosen_database() -> str:
    """sqlite or postgres, as asked for on the command line of this run."""
    return os.environ[_CHOICE]


def _prepare_run() -> None:
    # Taken out of the environment: the product refuses CTXBUDGET_ variables that it does not know.
    choice = os.environ.pop("CTXBUDGET_TEST_DB", "sqlite")
    if choice not in ("sqlite", "postgres"):
        raise SystemExit(f"CTXBUDGET_TEST_DB is sqlite or postgres, not {choice!r}.")
    folder = Path(tempfile.mkdtemp(prefix="ctxbudget-tests-"))
    os.environ[_CHOICE], os.environ[_FOLDER] = choice, str(folder)
    services: list[Service] = []
    atexit.register(_clean_up, services, folder, os.getpid())
    for name in ("CTXBUDGET_DATABASE_URL", "CTXBUDGET_REDIS_URL", "CTXBUDGET_SECRET_KEY"):
        os.environ.pop(name, None)
    if choice == "postgres":
        services.append(start_postgres(folder / "pg"))
        os.environ["CTXBUDGET_DATABASE_URL"] = services[-1].url
        services.append(start_redis(folder / "redis"))
        os.environ[_REDIS] = services[-1].url


def _prepare_process() -> None:
    """Files, queue and Redis database of its own for every process that runs tests."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    folder = Path(os.environ[_FOLDER]) / worker
    folder.mkdir(exist_ok=True)
    (folder / "static").mkdir(exist_ok=True)
    os.environ["CTXBUDGET_DATA_DIR"] = str(folder)
    os.environ["CTXBUDGET_STATIC_ROOT"] = str(folder / "static")
    # A file, not memory: threads and child processes must see the same database.
    os.environ["CTXBUDGET_TEST_SQLITE"] = str(folder / "test.sqlite3")
    if chosen_database() == "postgres":
        os.environ["CTXBUDGET_REDIS_URL"] = f"{os.environ[_REDIS]}/{worker.removeprefix('gw')}"


def _clean_up(services: list[Service], folder: Path, owner: int) -> None:
    if os.getpid() != owner:
        return
    for service in reversed(services):
        service.stop()
    shutil.rmtree(folder, ignore_errors=True)


if "PYTEST_XDIST_WORKER" not in os.environ:
    _prepare_run()
_prepare_process()


def pytest_report_header() -> str:
    return f"ctxbudget on {chosen_database()}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Repeats the figures that proofs print (`P1: 4,000 holds, overshoot 0`), wherever they ran."""
    reports = [report for key in ("passed", "failed") for report in terminalreporter.stats.get(key, [])]
    lines = [line for report in reports for line in report.capstdout.splitlines() if _FIGURE.match(line)]
    if lines:
        terminalreporter.section("figures")
        terminalreporter.write_line("\n".join(sorted(set(lines))))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes that are no text (gzip carries the time of day) would give each worker another test name."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and not val.isascii() else None
