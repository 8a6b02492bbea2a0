"""The gateway beside calling the upstream directly and, with PEERS=1, beside LiteLLM's proxy."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from django.conf import settings

from benchmarks.http_load import Load, measure
from teams.services import create_api_key, ensure_project

Row = tuple[str, str, str, str]

CLIENTS = 50
PROMPT = "Good morning, what is on the agenda for today? " * 10
BODY = json.dumps(
    {"model": "gpt-4o", "max_tokens": 100, "messages": [{"role": "user", "content": PROMPT}]}
).encode()


def rows() -> list[Row]:
    with _upstream() as upstream:
        direct = measure(f"{upstream}/v1/chat/completions", headers={}, body=BODY, clients=1, requests=500)
        with _gateway(upstream) as (url, headers, pid):
            ours = _Figures(f"{url}/gateway/openai/v1/chat/completions", headers, pid)
        peer = _litellm_figures(upstream) if os.environ.get("PEERS") == "1" else None
    return _table(direct, ours, peer)


class _Figures:
    """One client for latency, fifty for throughput, then the memory of all its processes."""

    def __init__(self, url: str, headers: dict[str, str], pid: int, requests: int = 1500) -> None:
        measure(url, headers=headers, body=BODY, clients=2, requests=50)
        self.single: Load = measure(url, headers=headers, body=BODY, clients=1, requests=300)
        self.many: Load = measure(url, headers=headers, body=BODY, clients=CLIENTS, requests=requests)
        self.megabytes = _resident_megabytes(pid)


def _table(direct: Load, ours: _Figures, peer: _Figures | None) -> list[Row]:
    def row(work: str, mine: float, theirs: float | None, unit: str) -> Row:
        beside = "LiteLLM, with PEERS=1" if theirs is None else f"LiteLLM {theirs:.1f} {unit}"
        return work, f"{mine:.1f} {unit}", beside, "–" if theirs is None else f"{mine / theirs:.2f}"

    def added(figures: _Figures, percent: int) -> float:
        return figures.single.percentile(percent) - direct.percentile(percent)

    return [
        row("gateway: latency added at p50, 1 client", added(ours, 50), peer and added(peer, 50), "ms"),
        row("gateway: latency added at p99, 1 client", added(ours, 99), peer and added(peer, 99), "ms"),
        row(f"gateway: {CLIENTS} clients", ours.many.per_second, peer and peer.many.per_second, "requests/s"),
        row(f"gateway: p50 at {CLIENTS}", ours.many.percentile(50), peer and peer.many.percentile(50), "ms"),
        row("gateway: memory, all processes", ours.megabytes, peer and peer.megabytes, "MB"),
    ]


@contextmanager
def _upstream() -> Iterator[str]:
    port = _free_port()
    server = [sys.executable, "-m", "granian", "--interface", "asginl", "--port", str(port)]
    with _running([*server, "--log-level", "error", "benchmarks.gateway_upstream:application"], {}, port):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _gateway(upstream: str) -> Iterator[tuple[str, dict[str, str], int]]:
    port = _free_port()
    environment = {
        "CTXBUDGET_OPENAI_UPSTREAM": upstream,
        "CTXBUDGET_OPENAI_API_KEY": "sk-none",
        "CTXBUDGET_ALLOW_PRIVATE_ADDRESSES": "1",
    }
    project = ensure_project(team_name="bench", project_name="gateway")
    key = create_api_key(project=project, scopes=["agent"]).secret
    with _running([sys.executable, "manage.py", "gateway", "--port", str(port)], environment, port) as pid:
        yield f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {key}"}, pid


def _litellm_figures(upstream: str) -> _Figures:
    with tempfile.TemporaryDirectory(prefix="ctxbudget-peer-") as folder:
        place = Path(folder)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [str(place / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "litellm[proxy]"], check=True)
        model = {"model": "openai/gpt-4o", "api_base": f"{upstream}/v1", "api_key": "sk-none"}
        config = {"model_list": [{"model_name": "gpt-4o", "litellm_params": model}]}
        (place / "config.yaml").write_text(json.dumps(config))
        port = _free_port()
        command = [
            str(place / "bin" / "litellm"),
            "--config",
            str(place / "config.yaml"),
            "--port",
            str(port),
        ]
        with _running(command, {}, port, path="/health/liveliness", seconds=120) as pid:
            return _Figures(f"http://127.0.0.1:{port}/v1/chat/completions", {}, pid, requests=500)


@contextmanager
def _running(
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


def _resident_megabytes(group: int) -> float:
    """Of every process in the group; shared pages count once per process, for everybody alike."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            total += int(fields[21])
    return total * os.sysconf("SC_PAGE_SIZE") / 1024**2


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
