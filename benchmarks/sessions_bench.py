"""Events and contexts: a turn beside a bare endpoint, contexts of ever longer sessions beside short ones."""

from __future__ import annotations

import itertools
from copy import copy
from typing import Any

from benchmarks.timing import cpu_seconds
from benchmarks.wsgi import caller, post
from kernel.models import Job
from sessions.models import AgentSession, Message

LENGTHS = (100, 1_000, 10_000, 100_000)
LIMIT_RATIO = "aim ≤ 2.5"

_turns = itertools.count()


def rows() -> list[tuple[str, str, str, str]]:
    return [_events_row(), *_context_rows()]


def _events_row() -> tuple[str, str, str, str]:
    session = _open("gpt-4o")
    ours = cpu_seconds(caller(f"/api/v1/sessions/{session}/events", lambda: {"events": _turn()}), times=200)
    peer = cpu_seconds(caller("/api/bare/insert", lambda: {"events": _turn()}), times=200)
    ratio = f"{ours / peer:.2f} ({LIMIT_RATIO})"
    return (
        "POST /events, one turn, CPU per request",
        f"{ours * 1000:.2f} ms",
        f"bare {peer * 1000:.2f} ms",
        ratio,
    )


def _context_rows() -> list[tuple[str, str, str, str]]:
    """Every session has the same tail; only what lies before it grows."""
    found = []
    base: dict[str, float] = {}
    for length in LENGTHS:
        session = _filled(length)
        for name, body in (("without query", {}), ("with query", {"query": "where is the parser of orders"})):
            ours = cpu_seconds(caller(f"/api/v1/sessions/{session}/context", body), times=20, runs=5)
            base.setdefault(name, ours)
            work = f"POST /context {name}, session of {length:,} messages, CPU"
            ratio = f"{ours / base[name]:.2f} (aim ≤ 1.3)"
            found.append((work, f"{ours * 1000:.2f} ms", f"100 messages {base[name] * 1000:.2f} ms", ratio))
    return found


def _open(model: str) -> str:
    return str(post("/api/v1/sessions", {"model": model})["id"])


def _turn() -> list[dict[str, Any]]:
    number = next(_turns)
    return [
        _message(f"u{number}", "user", f"Please look at the parser of order {number} and say what it does."),
        _message(
            f"a{number}", "assistant", "It reads a line, splits it by commas and adds the amounts up. " * 4
        ),
        {"event_id": f"c{number}", "type": "usage", "usage": {"input_tokens": 900, "output_tokens": 80}},
    ]


def _message(event_id: str, role: str, content: str) -> dict[str, Any]:
    return {"event_id": event_id, "type": "message", "message": {"role": role, "content": content}}


def _filled(length: int) -> str:
    """The past is copied in, the tail comes through the API, and nothing is compacted in between."""
    session = AgentSession.objects.get(pk=_open("gpt-4"))
    tail = 68
    post(f"/api/v1/sessions/{session.pk}/events", {"events": _turn()[:2]})
    sample = list(Message.objects.filter(session=session).order_by("seq"))
    past = (_copy(sample[seq % 2], seq) for seq in range(3, length - tail + 1))
    Message.objects.bulk_create(past, batch_size=1000)
    AgentSession.objects.filter(pk=session.pk).update(head_seq=max(2, length - tail))
    for _ in range(tail // 2):
        post(f"/api/v1/sessions/{session.pk}/events", {"events": _turn()[:2]})
    Job.objects.filter(subject_id=session.pk).delete()
    return session.pk


def _copy(message: Message, seq: int) -> Message:
    message.pk, message.seq = None, seq
    return copy(message)
