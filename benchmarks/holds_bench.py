"""Reserve and settle under 50 clients against a real server: requests/s, latency, CPU, and the overshoot."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.http_load import Load, measure
from benchmarks.peer_litellm import BUDGET_KEY, CALL_USD, ROOMY_KEY, SESSION_KEY, litellm_proxy
from benchmarks.processes import model_upstream

CLIENTS = 50
SECONDS = 8.0
CAP_USD = "1000"
TIGHT_CAP_USD, TIGHT_HOLD_USD, TIGHT_CALLERS = "0.05", "0.0055", 50
NO_PEER = "LiteLLM, with PEERS=1"

Row = tuple[str, str, str, str]


def rows() -> list[Row]:
    key, manager = _keys()
    server, port = _start_server()
    try:
        sessions = [_session(port, key) for _ in range(CLIENTS)]
        _call(port, manager, "/caps", {"scope": "project", "limit_usd": CAP_USD})
        cpu_before = _cpu_seconds(server.pid)
        started = time.perf_counter()
        latencies = _load(port, key, sessions)
        elapsed = time.perf_counter() - started
        cpu = _cpu_seconds(server.pid) - cpu_before
        tight = _tight_cap(port, key, manager)
    finally:
        server.terminate()
        server.wait()
    peer = _peer() if os.environ.get("PEERS") == "1" else None
    return [*_speed_rows(latencies, elapsed, cpu, peer), *_tight_rows(tight, peer)]


def _speed_rows(latencies: list[float], elapsed: float, cpu: float, peer: Peer | None) -> list[Row]:
    ordered = sorted(latencies)
    # A call is a reservation and a settlement.
    rate = len(ordered) / 2 / elapsed
    p50, p99 = (ordered[int(len(ordered) * share)] * 1000 for share in (0.5, 0.99))
    work = f"reserve + settle, {CLIENTS} clients, SQLite"
    beside = f"LiteLLM {peer.load.per_second:.0f} calls/s" if peer else NO_PEER
    their_p50 = f"LiteLLM p50 {peer.load.percentile(50):.0f} ms a call" if peer else ""
    return [
        (work, f"{rate:.0f} calls/s", beside, f"{rate / peer.load.per_second:.1f}" if peer else "–"),
        (f"{work}: latency a request", f"p50 {p50:.0f} ms, p99 {p99:.0f} ms", their_p50, "–"),
        (f"{work}: server CPU a call", f"{cpu / len(ordered) * 2000:.2f} ms", "", "–"),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """LiteLLM's proxy: its calls under a budget that is far away, and what it admits at one that is near."""

    load: Load
    session_admitted: int
    key_admitted: int


def _peer() -> Peer | None:
    with model_upstream() as upstream, litellm_proxy(upstream, budgets=True) as proxy:
        if proxy is None:
            return None
        headers = {"Authorization": f"Bearer {ROOMY_KEY}"}
        url = f"{proxy.url}/v1/chat/completions"
        load = measure(url, headers=headers, body=_PEER_BODY, clients=CLIENTS, requests=500)
    # A second is long enough that all fifty calls are under way together.
    with model_upstream(seconds=1) as upstream, litellm_proxy(upstream, budgets=True) as proxy:
        assert proxy is not None
        port = int(proxy.url.rpartition(":")[2])
        return Peer(
            load=load,
            session_admitted=_peer_admitted(port, SESSION_KEY),
            key_admitted=_peer_admitted(port, BUDGET_KEY),
        )


_PEER_BODY = json.dumps(
    {
        "model": "gpt-4o",
        "max_tokens": 61,
        "messages": [{"role": "user", "content": "hi " * 100}],
        "metadata": {"session_id": "one"},
    }
).encode()


def _peer_admitted(port: int, key: str) -> int:
    admitted: list[bool] = []

    def ask() -> None:
        connection = _connect(port)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", _PEER_BODY, headers)
        admitted.append(connection.getresponse().status == 200)

    _run([ask] * TIGHT_CALLERS)
    return sum(admitted)


def _tight_rows(ours: str, peer: Peer | None) -> list[Row]:
    """Fifty calls at once against 0.05 USD: how far past it each lets them spend."""
    work = f"{TIGHT_CALLERS} calls at once on a cap of {TIGHT_CAP_USD} USD"
    if peer is None:
        return [(work, ours, NO_PEER, "–")]
    by_kind = {"session budget": peer.session_admitted, "key budget": peer.key_admitted}
    return [
        (f"{work}: LiteLLM's {kind}", ours, _spent(admitted, CALL_USD), "–")
        for kind, admitted in by_kind.items()
    ]


def _spent(admitted: int, cost_usd: float) -> str:
    spent, cap = admitted * cost_usd, float(TIGHT_CAP_USD)
    return f"{admitted} admitted, {spent:.4f} USD = {spent / cap:.2f} × the cap"


def _tight_cap(port: int, key: str, manager: str) -> str:
    session = _session(port, key)
    cap = _call(
        port,
        manager,
        "/caps",
        {"scope": "session", "scope_id": session, "limit_usd": TIGHT_CAP_USD, "wrap_up_reserve_usd": "0"},
    )
    admitted: list[bool] = []

    def ask() -> None:
        status, _ = _request(_connect(port), key, f"/sessions/{session}/holds", _estimate(TIGHT_HOLD_USD))
        admitted.append(status == 201)

    _run([ask] * TIGHT_CALLERS)
    window = _request(_connect(port), manager, f"/caps/{cap['id']}", None, method="GET")[1]["window"]
    assert float(window["remaining_usd"]) >= 0, window
    return _spent(sum(admitted), float(TIGHT_HOLD_USD))


def _load(port: int, key: str, sessions: list[str]) -> list[float]:
    latencies: list[float] = []
    deadline = time.perf_counter() + SECONDS

    def client(session: str) -> None:
        connection, own = _connect(port), []
        while time.perf_counter() < deadline:
            started = time.perf_counter()
            status, hold = _request(connection, key, f"/sessions/{session}/holds", _estimate("0.01"))
            own.append(time.perf_counter() - started)
            assert status == 201, hold
            usage = {"usage": {"input_tokens": 100, "output_tokens": 10}}
            started = time.perf_counter()
            status, answer = _request(connection, key, f"/holds/{hold['id']}/settle", usage)
            own.append(time.perf_counter() - started)
            assert status == 200, answer
        latencies.extend(own)

    _run([lambda session=session: client(session) for session in sessions])
    return latencies


def _run(calls: list[Any]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _estimate(cost_usd: str) -> dict[str, Any]:
    return {"estimate": {"cost_usd": cost_usd}}


def _session(port: int, key: str) -> str:
    return str(_call(port, key, "/sessions", {"model": "gpt-4", "profile": "ratio-default"})["id"])


def _call(port: int, key: str, path: str, body: Any) -> dict[str, Any]:
    status, answer = _request(_connect(port), key, path, body)
    assert status in (200, 201), answer
    return answer


def _connect(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def _request(
    connection: http.client.HTTPConnection, key: str, path: str, body: Any, *, method: str = "POST"
) -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body)
    connection.request(method, f"/api/v1{path}", content, headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def _keys() -> tuple[str, str]:
    from teams.services import create_api_key, ensure_project

    project = ensure_project(team_name="bench", project_name="holds")
    return tuple(create_api_key(project=project, scopes=[scope]).secret for scope in ("agent", "manage"))  # type: ignore[return-value]


def _start_server() -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--blocking-threads", "16", "--no-ws"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    server = subprocess.Popen([*command, "ctxbudget_site.wsgi:application"])
    for _ in range(600):
        try:
            connection = _connect(port)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            return server, port
        except OSError:
            time.sleep(0.05)
    raise SystemExit("The server did not start.")


def _cpu_seconds(parent: int) -> float:
    """Of the server and its children, from the kernel's own count."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat.parent.name) == parent or int(fields[1]) == parent:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
