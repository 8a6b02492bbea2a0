"""`manage.py up` as a person uses it: one command, one banner, one Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugin import chosen_database
from tests.product_processes import REPOSITORY, ProductProcess, answers
from tests.services_processes import free_port

pytestmark = pytest.mark.skipif(chosen_database() != "sqlite", reason="the embedded default is SQLite")


class Installation:
    """A data folder and a port, started and stopped as often as a test likes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.log = folder.parent / "up.log"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CTXBUDGET_", "PYTEST_"))}
        return {**kept, "CTXBUDGET_DATA_DIR": str(self.folder), "CTXBUDGET_PORT": str(self.port)}

    def start(self) -> ProductProcess:
        self.log.unlink(missing_ok=True)
        started = ProductProcess([sys.executable, "manage.py", "up"], log=self.log, env=self.environment())
        started.wait_until(lambda: "Ctrl-C ends it." in started.output(), seconds=60)
        return started

    def refusal(self) -> str:
        """What it says when it does not start, after making sure that it did not."""
        ended = subprocess.run(
            [sys.executable, "manage.py", "up"],
            cwd=REPOSITORY,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ended.returncode == 1
        assert "Traceback" not in ended.stderr + ended.stdout
        return ended.stderr


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path / "var")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("up") / "var")


@pytest.fixture(scope="module")
def running(shared: Installation) -> Iterator[ProductProcess]:
    started = shared.start()
    yield started
    started.stop()


def test_it_prints_a_curl_that_returns_a_budget(running: ProductProcess) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    command = next(line for line in running.output().splitlines() if line.startswith("curl "))
    answer = json.loads(subprocess.run(shlex.split(command), capture_output=True, check=True).stdout)
    assert answer["total"] == 6400
    assert answer["sections"]["recent_messages"] == 2240


def test_an_empty_installation_offers_a_demo_that_fills_it(
    running: ProductProcess, shared: Installation
) -> None:
    assert f"`make demo PORT={shared.port} DATA_DIR={shared.folder}`" in running.output()
    command = ["make", "--silent", "demo", f"DATA_DIR={shared.folder}", f"PORT={shared.port}"]
    filled = subprocess.run(command, cwd=REPOSITORY, env=shared.environment(), capture_output=True, text=True)
    assert filled.returncode == 0, filled.stderr
    last = filled.stdout.splitlines()[-1]
    with sqlite3.connect(shared.folder / "ctxbudget.sqlite3") as database:
        states = {
            row[0] for row in database.execute("SELECT DISTINCT state FROM agent_sessions_agentsession")
        }
    assert states >= {"active", "paused", "ended"}
    assert re.fullmatch(rf"The project shop has \d+ sessions now\. Open {re.escape(shared.url)}/\.", last)


def test_it_keeps_its_secrets_for_the_owner_alone(running: ProductProcess, shared: Installation) -> None:
    for name in ("secret-key", "first-login.txt", "demo-key.txt", "ctxbudget.sqlite3"):
        assert stat.S_IMODE((shared.folder / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE(shared.folder.stat().st_mode) == 0o700


def test_a_second_start_keeps_login_key_and_secret(installation: Installation) -> None:
    first = installation.start()
    secret = (installation.folder / "secret-key").read_text()
    said = first.output().split("ctxbudget answers on", 1)[1].split("Ctrl-C", 1)[0]
    assert first.stop() == 0
    second = installation.start()
    assert said in second.output()
    assert (installation.folder / "secret-key").read_text() == secret
    assert second.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_every_child(installation: Installation, number: int) -> None:
    started = installation.start()
    children = _wait_for(lambda: found if len(found := _children(started.pid)) >= 4 else None)
    started.process.send_signal(number)
    assert started.process.wait(timeout=20) == 0
    assert [pid for pid in children if _exists(pid)] == []
    assert not answers(f"{installation.url}/healthz")


def test_ending_make_run_ends_everything(installation: Installation) -> None:
    made = f"{sys.prefix}/.installed-base"
    options = [f"VENV={sys.prefix}", f"PORT={installation.port}", f"DATA_DIR={installation.folder}"]
    # -o: the environment is there already, this test is one of its users.
    started = ProductProcess(
        ["make", "-o", made, "run", *options], log=installation.log, env=installation.environment()
    )
    started.wait_until(lambda: answers(f"{installation.url}/healthz"), seconds=60)
    started.process.terminate()
    started.process.wait(timeout=20)
    _wait_for(lambda: not answers(f"{installation.url}/healthz"))


def test_a_killed_worker_comes_back(running: ProductProcess, shared: Installation) -> None:
    worker = _wait_for(lambda: _child_named(running.pid, "celery"))
    os.kill(worker, signal.SIGKILL)
    assert _wait_for(lambda: pid if (pid := _child_named(running.pid, "celery")) != worker else None)
    # How long it waits depends on how long it had been healthy.
    assert "worker  | ended with -9; starts again in " in running.output()
    assert answers(f"{shared.url}/healthz")


def test_a_killed_supervisor_takes_its_children_along(installation: Installation) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    started = installation.start()
    children = _wait_for(lambda: found if len(found := _children(started.pid)) >= 4 else None)
    os.kill(started.pid, signal.SIGKILL)
    _wait_for(lambda: not any(_exists(pid) for pid in children))


def test_a_busy_port_is_a_sentence(installation: Installation) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", installation.port))
        other.listen()
        said = installation.refusal()
    assert f"Port {installation.port} cannot be used (address already in use)" in said
    assert "PORT=" in said


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    # A file where a folder should be stops root as well, whom permissions do not.
    (tmp_path / "file").write_text("")
    said = Installation(tmp_path / "file" / "var").refusal()
    assert re.search(r"The data folder .* cannot be written \(not a directory\)", said)
    assert "DATA_DIR=" in said


def test_a_newer_schema_is_a_sentence_and_changes_nothing(installation: Installation) -> None:
    installation.folder.mkdir()
    with sqlite3.connect(installation.folder / "ctxbudget.sqlite3") as connection:
        connection.execute("CREATE TABLE django_migrations (id INTEGER PRIMARY KEY, app, name, applied)")
        connection.execute("INSERT INTO django_migrations VALUES (1, 'kernel', '9999_later', '2030-01-01')")
    said = installation.refusal()
    assert "The database was written by a newer ctxbudget (it has kernel.9999_later)" in said
    with sqlite3.connect(installation.folder / "ctxbudget.sqlite3") as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone() == (
            1,
        )


def test_a_file_that_is_no_database_is_a_sentence(installation: Installation) -> None:
    installation.folder.mkdir()
    (installation.folder / "ctxbudget.sqlite3").write_text("this is a letter, not a database" * 100)
    assert "The database cannot be used: file is not a database." in installation.refusal()


def test_a_misspelt_setting_is_a_sentence(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**installation.environment(), "CTXBUDGET_DATABSE_URL": "sqlite:///x"}
    monkeypatch.setattr(installation, "environment", lambda: given)
    assert "CTXBUDGET_DATABSE_URL is not a setting of ctxbudget." in installation.refusal()


def _children(supervisor: int) -> list[int]:
    """The supervisor's children and theirs, from /proc."""
    parents = {pid: _parent(pid) for pid in (int(name) for name in os.listdir("/proc") if name.isdigit())}
    direct = [pid for pid, parent in parents.items() if parent == supervisor]
    return direct + [pid for pid, parent in parents.items() if parent in direct]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _child_named(supervisor: int, word: str) -> int | None:
    for pid in _children(supervisor):
        try:
            if word in Path(f"/proc/{pid}/cmdline").read_text():
                return pid
        except OSError:
            continue
    return None


def _exists(pid: int) -> bool:
    try:
        # An orphan that nobody has reaped yet is dead all the same.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _wait_for(found: Callable[[], Any], seconds: float = 20) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = found()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError("it did not happen")
