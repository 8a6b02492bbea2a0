"""Contexts of ever longer sessions beside short ones."""

from __future__ import annotations

import itertools
from copy import copy
from typing import Any

from django.db import transaction

from benchmarks.timing import cpu_seconds
from benchmarks.wsgi import caller, post
from kernel.models import Job
from sessions.models import AgentSession, ArchiveIndex, Message
from sessions.services.archive import index_up_to
from sessions.services.frames import frame_of
from sessions.services.store import to_bytes

LENGTHS = (100, 1_000, 10_000, 100_000)
# Two words that stand in every message and one that stands in few.
QUERY = "where is the parser of order 12"
WISHES = {"without query": {}, "with query": {"query": QUERY}}
ROUNDS = 4
TAIL = 68

_turns = itertools.count()


def rows() -> list[tuple[str, str, str, str]]:
    """Every session has the same tail, more than its window holds; only what lies before it grows."""
    sessions = {length: _filled(length) for length in LENGTHS}
    return [row for name, body in WISHES.items() for row in _rows_of(name, body, sessions)]


def _rows_of(name: str, body: dict[str, str], sessions: dict[int, str]) -> list[tuple[str, str, str, str]]:
    """The lengths take turns, so that other work on the machine meets all of them."""
    best = dict.fromkeys(sessions, float("inf"))
    for _ in range(ROUNDS):
        for length, session in sessions.items():
            measured = cpu_seconds(caller(f"/api/v1/sessions/{session}/context", body), times=20, runs=2)
            best[length] = min(best[length], measured)
    base = best[LENGTHS[0]]
    return [
        (
            f"POST /context {name}, session of {length:,} messages, CPU",
            f"{ours * 1000:.2f} ms",
            f"{LENGTHS[0]} messages {base * 1000:.2f} ms",
            f"{ours / base:.2f} (aim ≤ 1.3)",
        )
        for length, ours in best.items()
    ]


def open_session(model: str) -> str:
    return str(post("/api/v1/sessions", {"model": model})["id"])


def turn(sentences: int = 4) -> list[dict[str, Any]]:
    number = next(_turns)
    return [
        _message(f"u{number}", "user", f"Please look at the parser of order {number} and say what it does."),
        _message(
            f"a{number}",
            "assistant",
            "It reads a line, splits it by commas and adds the amounts up. " * sentences,
        ),
        {"event_id": f"c{number}", "type": "usage", "usage": {"input_tokens": 900, "output_tokens": 80}},
    ]


def _message(event_id: str, role: str, content: str) -> dict[str, Any]:
    return {"event_id": event_id, "type": "message", "message": {"role": role, "content": content}}


def _filled(length: int) -> str:
    """The past is copied in, the tail comes through the API, and nothing is compacted in between."""
    session = AgentSession.objects.get(pk=open_session("gpt-4"))
    post(f"/api/v1/sessions/{session.pk}/events", {"events": turn()[:2]})
    sample = list(Message.objects.filter(session=session).order_by("seq"))
    past = (_copy(sample[seq % 2], seq) for seq in range(3, length - TAIL + 1))
    Message.objects.bulk_create(past, batch_size=1000)
    AgentSession.objects.filter(pk=session.pk).update(head_seq=max(2, length - TAIL))
    for _ in range(TAIL // 2):
        post(f"/api/v1/sessions/{session.pk}/events", {"events": turn(sentences=14)[:2]})
    Job.objects.filter(subject_id=session.pk).delete()
    _index(session.pk)
    return session.pk


def _copy(message: Message, seq: int) -> Message:
    message.pk, message.seq = None, seq
    message.body = to_bytes({"role": message.role, "content": f"The parser of order {seq} adds amounts up."})
    return copy(message)


@transaction.atomic
def _index(session_id: str) -> None:
    """What the index jobs do, in one transaction: a search then finds all of the past by its words."""
    session = AgentSession.objects.get(pk=session_id)
    index_up_to(session, frame_of(session), session.head_seq)
    assert ArchiveIndex.objects.get(session_id=session_id).indexed_to_seq == session.head_seq
