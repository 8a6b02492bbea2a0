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
from pathlib import Path
from typing import Any

CLIENTS = 50
SECONDS = 8.0
CAP_USD = "1000"
TIGHT_CAP_USD, TIGHT_HOLD_USD, TIGHT_CALLERS = "0.05", "0.0055", 50
# BENCH.md: measured on this kind of machine before; PEERS=1 has no part in this row yet.
PEER = "LiteLLM proxy 45–80 /s, p50 1.0 s (recorded, not this run)"

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
    return [*_speed_rows(latencies, elapsed, cpu), tight]


def _speed_rows(latencies: list[float], elapsed: float, cpu: float) -> list[Row]:
    ordered = sorted(latencies)
    rate = len(ordered) / elapsed
    p50, p99 = (ordered[int(len(ordered) * share)] * 1000 for share in (0.5, 0.99))
    work = f"reserve + settle, {CLIENTS} clients, SQLite"
    return [
        (work, f"{rate:.0f} requests/s", PEER, f"{rate / 80:.1f}–{rate / 45:.1f}"),
        (f"{work}: latency", f"p50 {p50:.0f} ms, p99 {p99:.0f} ms", "", ""),
        (f"{work}: server CPU per request", f"{cpu / len(ordered) * 1000:.2f} ms", "", ""),
    ]


def _tight_cap(port: int, key: str, manager: str) -> Row:
    """LiteLLM's own case: 50 concurrent calls against a session budget of 0.05 USD."""
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
    return (
        f"{TIGHT_CALLERS} concurrent calls of {TIGHT_HOLD_USD} on a session cap of {TIGHT_CAP_USD} USD",
        f"{sum(admitted)} admitted, {window['reserved_usd']} USD",
        "LiteLLM session cap: all 50, 5.5 × the cap (recorded)",
        "overshoot 0" if float(window["remaining_usd"]) >= 0 else "OVERSHOOT",
    )


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
