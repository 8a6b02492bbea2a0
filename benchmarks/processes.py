"""Servers that a benchmark starts, waits for and ends."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.error import URLError
from urllib.request import urlopen

from django.conf import settings


@contextmanager
def model_upstream(*, seconds: float = 0) -> Iterator[str]:
    """A model's API that answers every completion after so many seconds."""
    port = free_port()
    server = [sys.executable, "-m", "granian", "--interface", "asginl", "--port", str(port)]
    command = [*server, "--log-level", "error", "benchmarks.gateway_upstream:application"]
    with running(command, {"UPSTREAM_SECONDS": str(seconds)}, port):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def running(
    command: list[str], environment: dict[str, str], port: int, *, path: str = "/healthz", seconds: float = 30
) -> Iterator[int]:
    """The command, once it answers; its whole process group ends with it."""
    process = subprocess.Popen(
        command,
        cwd=settings.BASE_DIR,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait(process, f"http://127.0.0.1:{port}{path}", seconds)
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 15)
        process.wait()


def _wait(process: subprocess.Popen[bytes], url: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        try:
            urlopen(url, timeout=2).close()
            return
        except (URLError, OSError):
            time.sleep(0.1)
    raise SystemExit(f"{process.args!r} did not start.")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
