"""POST /budgets/calculate beside a bare endpoint with the same authentication, middleware and parser."""

from __future__ import annotations

from typing import Any

from benchmarks.timing import cpu_seconds
from benchmarks.wsgi import caller

BODIES: dict[str, Any] = {
    "from a total": {"total": 6400},
    "from a model and a profile": {"model": "zai-glm-4.6", "profile": "long-story", "mode": "combat"},
}


def rows() -> list[tuple[str, str, str, str]]:
    peer = cpu_seconds(caller("/api/bare/echo", {"total": 6400}), times=300)
    return [_row(name, body, peer) for name, body in BODIES.items()]


def _row(name: str, body: Any, peer: float) -> tuple[str, str, str, str]:
    ours = cpu_seconds(caller("/api/v1/budgets/calculate", body), times=300)
    work = f"POST /budgets/calculate {name}, CPU per request"
    return work, f"{ours * 1000:.2f} ms", f"bare endpoint {peer * 1000:.2f} ms", f"{ours / peer:.2f}"
