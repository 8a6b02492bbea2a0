"""The product's own processes, started for a test on the test's database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from django.conf import settings
from django.db import connection

from kernel.models import ProcessHeartbeat
from tests.services_processes import free_port, leash

REPOSITORY = Path(__file__).resolve().parent.parent
START_SECONDS = 30


class ProductProcess:
    """One child in a process group of its own; `stop` is the polite end, `kill` is kill -9."""

    def __init__(self, command: list[str], *, log: Path, env: dict[str, str] | None = None) -> None:
        self.command, self.log = command, log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*leash("TERM"), *command],
                cwd=REPOSITORY,
                env=env if env is not None else child_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_until(self, ready: Callable[[], bool], *, seconds: float = START_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"{self.command} did not become ready:\n{self.output()[-4000:]}")
            time.sleep(0.05)

    def stop(self, *, seconds: float = 15) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=seconds)
        self.kill()
        return self.process.returncode

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()

    def output(self) -> str:
        return self.log.read_text(errors="replace")


def child_environment(**extra: str) -> dict[str, str]:
    """This process' environment, pointed at the database that the tests are using right now."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    inherited.pop("CTXBUDGET_TEST_SQLITE", None)
    return {**inherited, "CTXBUDGET_DATABASE_URL": test_database_url(), "PYTHONUNBUFFERED": "1", **extra}


def test_database_url() -> str:
    chosen = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{chosen['NAME']}"
    return f"postgres://{chosen['USER']}@/{chosen['NAME']}?host={chosen['HOST']}"


test_database_url.__test__ = False  # type: ignore[attr-defined]


def start_worker(*, fault: str = "", log: Path | None = None, **env: str) -> ProductProcess:
    """A Celery worker; `fault` is `<point>:<kill|raise|freeze>`, see tests/faulty_worker.py."""
    worker = ProductProcess(
        [sys.executable, "-m", "tests.faulty_worker"],
        log=log or Path(settings.DATA_DIR) / "worker.log",
        env=child_environment(FAULT=fault, **env),
    )
    worker.wait_until(lambda: ProcessHeartbeat.objects.filter(name__endswith=f":{worker.pid}").exists())
    return worker


def start_web(*, fault: str = "", log: Path | None = None, **env: str) -> tuple[ProductProcess, str]:
    """The web server as production runs it, and its address."""
    port = free_port()
    application = "tests.faulty_wsgi:application" if fault else "ctxbudget_site.wsgi:application"
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--blocking-threads", "16", "--no-ws"]
    command += ["--host", "127.0.0.1", "--port", str(port), application]
    web = ProductProcess(
        command,
        log=log or Path(settings.DATA_DIR) / "web.log",
        env=child_environment(FAULT=fault, **env),
    )
    url = f"http://127.0.0.1:{port}"
    web.wait_until(lambda: answers(f"{url}/healthz"))
    return web, url


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (URLError, OSError):
        return False
