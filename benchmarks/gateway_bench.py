"""The gateway beside calling the upstream directly and, with PEERS=1, beside LiteLLM's proxy."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.http_load import Load, measure
from benchmarks.peer_litellm import litellm_proxy
from benchmarks.processes import free_port, model_upstream, running
from teams.services import create_api_key, ensure_project

Row = tuple[str, str, str, str]

CLIENTS = 50
PAUSE_S = 0.02
PROMPT = "Good morning, what is on the agenda for today? " * 10
BODY = json.dumps(
    {"model": "gpt-4o", "max_tokens": 100, "messages": [{"role": "user", "content": PROMPT}]}
).encode()


def rows() -> list[Row]:
    with model_upstream() as upstream:
        direct = _one_client(f"{upstream}/v1/chat/completions", {})
        with _gateway(upstream) as (url, headers, pid):
            ours = _Figures(f"{url}/gateway/openai/v1/chat/completions", headers, pid)
        peer = _litellm_figures(upstream) if os.environ.get("PEERS") == "1" else None
    return _table(direct, ours, peer)


def _one_client(url: str, headers: dict[str, str]) -> Load:
    """Real calls take seconds, so the one before is always settled: a client that pauses between calls."""
    return measure(url, headers=headers, body=BODY, clients=1, requests=200, pause_s=PAUSE_S)


class _Figures:
    """One client for latency, fifty for throughput, then the memory of all its processes."""

    def __init__(self, url: str, headers: dict[str, str], pid: int, requests: int = 1500) -> None:
        measure(url, headers=headers, body=BODY, clients=2, requests=50)
        self.single = _one_client(url, headers)
        before = _group(pid)
        self.many: Load = measure(url, headers=headers, body=BODY, clients=CLIENTS, requests=requests)
        after = _group(pid)
        self.cpu_ms = (after.cpu_seconds - before.cpu_seconds) / requests * 1000
        self.megabytes = after.megabytes


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
        row("gateway: CPU per request", ours.cpu_ms, peer and peer.cpu_ms, "ms"),
        row("gateway: memory, all processes", ours.megabytes, peer and peer.megabytes, "MB"),
    ]


@contextmanager
def _gateway(upstream: str) -> Iterator[tuple[str, dict[str, str], int]]:
    port = free_port()
    environment = {
        "CTXBUDGET_OPENAI_UPSTREAM": upstream,
        "CTXBUDGET_OPENAI_API_KEY": "sk-none",
        "CTXBUDGET_ALLOW_PRIVATE_ADDRESSES": "1",
    }
    project = ensure_project(team_name="bench", project_name="gateway")
    key = create_api_key(project=project, scopes=["agent"]).secret
    with running([sys.executable, "manage.py", "gateway", "--port", str(port)], environment, port) as pid:
        yield f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {key}"}, pid


def _litellm_figures(upstream: str) -> _Figures | None:
    """As it comes: one process, a key to be shown, no database, so without budgets."""
    with litellm_proxy(upstream) as proxy:
        if proxy is None:
            return None
        headers = {"Authorization": f"Bearer {proxy.master_key}"}
        return _Figures(f"{proxy.url}/v1/chat/completions", headers, proxy.pid, requests=500)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """What the processes of a group use together; shared pages count once per process, for everybody."""

    megabytes: float
    cpu_seconds: float


def _group(leader: int) -> _Group:
    pages = ticks = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader:
            pages += int(fields[21])
            ticks += int(fields[11]) + int(fields[12])
    return _Group(
        megabytes=pages * os.sysconf("SC_PAGE_SIZE") / 1024**2,
        cpu_seconds=ticks / os.sysconf("SC_CLK_TCK"),
    )
