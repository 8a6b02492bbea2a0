"""Compaction of a session of 100,000 tokens in a process of its own, while appends go on in this one."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from typing import Any

from benchmarks.wsgi import post
from sessions.models import AgentSession

TOKENS = 100_000
VERBS = ("parse", "check", "load", "store", "merge", "split", "count", "join", "read", "write", "move")
NOUNS = ("order", "ledger", "parser", "index", "cache", "token", "budget", "window", "section", "model")
# What the child does: the job alone is measured, in CPU seconds and in the process's peak memory.
WORK = """
import json, resource, sys, time
import django
django.setup()
from budgets.tokens import load_vocabularies
from kernel.models import Job
from kernel.tasks import run_job
load_vocabularies()
Job.objects.count()
started = time.process_time()
run_job(sys.argv[1])
seconds = time.process_time() - started
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([seconds, memory]))
"""


def rows() -> list[tuple[str, str, str, str]]:
    session = _filled()
    job = post(f"/api/v1/sessions/{session}/compact", {})["job"]
    worker = subprocess.Popen([sys.executable, "-c", WORK, job], stdout=subprocess.PIPE, text=True)
    milliseconds = _appends_until_done(session, worker)
    output, _ = worker.communicate()
    seconds, memory = json.loads(output.splitlines()[-1])
    row = AgentSession.objects.get(pk=session)
    assert row.compactions == 1, "the compaction did not happen"
    p99 = sorted(milliseconds)[-(-len(milliseconds) * 99 // 100) - 1]
    return [
        ("compaction of 100,000 tokens, built-in summariser, CPU", f"{seconds:.2f} s", "–", "aim < 2 s"),
        ("the same, peak memory of its process", f"{memory:.0f} MB", "–", "aim < 200 MB"),
        (
            f"append of one message meanwhile, p99 of {len(milliseconds)}",
            f"{p99:.1f} ms",
            "–",
            "aim ≤ 50 ms",
        ),
    ]


def _appends_until_done(session: str, worker: subprocess.Popen[str]) -> list[float]:
    """Wall time: whoever appends waits for the lock as well as for the processor."""
    milliseconds: list[float] = []
    while worker.poll() is None:
        message = {"role": "user", "content": f"meanwhile {len(milliseconds)}"}
        started = time.perf_counter()
        post(f"/api/v1/sessions/{session}/events", {"events": [{"type": "message", "message": message}]})
        milliseconds.append((time.perf_counter() - started) * 1000)
        time.sleep(0.01)
    return milliseconds


def _filled() -> str:
    dice = random.Random(7)
    session = str(post("/api/v1/sessions", {"model": "claude-3-opus", "goal": "Tidy the ledger"})["id"])
    number = 0
    while AgentSession.objects.get(pk=session).counted_tokens < TOKENS:
        events = [{"type": "message", "message": m} for _ in range(10) for m in _turn(dice, number)]
        post(f"/api/v1/sessions/{session}/events", {"events": events})
        number += 10
    return session


def _turn(dice: random.Random, number: int) -> list[dict[str, Any]]:
    path = f"src/{dice.choice(NOUNS)}_{dice.randint(1, 400)}.py"
    call = {
        "id": f"c{number}_{dice.randint(0, 10**9)}",
        "type": "function",
        "function": {"name": "Read", "arguments": json.dumps({"file_path": path})},
    }
    return [
        {"role": "user", "content": f"Please {_sentence(dice, 12)} in {path}."},
        {"role": "assistant", "content": _sentence(dice, 30), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": _sentence(dice, 160)},
        {"role": "assistant", "content": f"We decided to {_sentence(dice, 60)}"},
    ]


def _sentence(dice: random.Random, words: int) -> str:
    pairs = (f"{dice.choice(VERBS)} {dice.choice(NOUNS)}_{dice.randint(1, 5000)}" for _ in range(words // 2))
    return ", ".join(pairs) + "."
