"""Fitting N messages with stored counts into 8,000 tokens, beside trim_messages on the same work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.peer_environment import peer_python
from benchmarks.timing import cpu_seconds
from budgets.core.policy import parse_policy
from budgets.core.presets import PRESETS
from budgets.core.window import WindowBudget
from sessions.core.assembly import AssemblyRequest, Ruler, anchors_of, assemble
from sessions.core.groups import fit_tail
from sessions.core.message import Body, StoredMessage, stored_message

SIZES = (100, 1_000, 10_000)
ROOM = 8_000
# 204 tokens a message: even 100 of them do not fit.
CHARACTERS = 800
PEER = Path(__file__).with_name("peer_trim_messages.py")
PEER_PACKAGE = "langchain-core"


def rows() -> list[tuple[str, str, str, str]]:
    peers = _peer_ms()
    return [row for size in SIZES for row in _rows(size, peers.get(size))]


def _rows(size: int, peer: tuple[float, float] | None) -> list[tuple[str, str, str, str]]:
    messages = _messages(size)
    fit = cpu_seconds(lambda: fit_tail(messages, ROOM), times=100) * 1_000
    request = _request(messages)
    whole = cpu_seconds(lambda: assemble(request), times=20) * 1_000
    return [
        _row(f"fit {size:,} messages into {ROOM:,} tokens", fit, peer),
        _row(f"assemble {size:,} messages with its proof", whole, peer),
    ]


def _row(work: str, ours_ms: float, peer: tuple[float, float] | None) -> tuple[str, str, str, str]:
    if peer is None:
        return work, f"{ours_ms:.3f} ms", f"{PEER_PACKAGE} cannot be installed here", "-"
    plain, memoised = peer
    shown = f"trim_messages {plain:.1f} ms, memoised {memoised:.1f} ms"
    return work, f"{ours_ms:.3f} ms", shown, f"{ours_ms / memoised:.4f}"


def _messages(size: int) -> list[StoredMessage]:
    bodies = ({"role": ("user", "assistant")[n % 2], "content": "x" * CHARACTERS} for n in range(size))
    return [stored_message(seq=n, body=body, count_message=_count) for n, body in enumerate(bodies, start=1)]


def _request(messages: list[StoredMessage]) -> AssemblyRequest:
    return AssemblyRequest(
        policy=parse_policy(PRESETS["ratio-default"].document),
        window=WindowBudget(context_window=ROOM, safe=ROOM, output_reserve=0, max_input=ROOM, mode="normal"),
        model="a-model",
        ruler=Ruler(
            count=lambda text: -(-len(text) // 4),
            cut=lambda text, limit: text[: max(limit, 0) * 4],
            count_message=_count,
        ),
        tail=messages,
        anchors=anchors_of(messages),
        head_seq=len(messages),
        sticky=False,
    )


def _count(body: Body) -> int:
    return -(-len(body["content"]) // 4) + 4


def _peer_ms() -> dict[int, tuple[float, float]]:
    """CPU milliseconds of the peer, plain and with memoised counts, measured in an environment of its own."""
    with peer_python(PEER_PACKAGE) as python:
        if python is None:
            return {}
        work = [python, str(PEER), str(ROOM), str(CHARACTERS), *map(str, SIZES)]
        answer = subprocess.run(work, capture_output=True, check=True, text=True).stdout
    return {int(size): (plain, memoised) for size, (plain, memoised) in json.loads(answer).items()}


if __name__ == "__main__":
    for line in rows():
        print("  ".join(line))
    sys.exit(0)
