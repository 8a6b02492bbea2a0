"""Unsafe truncations on real agent runs through the API, beside LangChain's trim_messages.

Every run is reported as it was recorded; at up to ten model calls whose history exceeds the budget the next
context is asked for and tested. PEERS=1 measures the peer here; otherwise its recorded figures are shown.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peer_environment import peer_python
from benchmarks.safety_bench_core import CALL_POINTS, CHECKS, PLAN, SAFE_TO_LOSE, data_folder
from benchmarks.wsgi import post

Message = dict[str, Any]
Row = tuple[str, str, str, str]

MODEL = "gpt-4o"
PEERS = {"langchain_last": "trim_messages", "langchain_last_start_on_human": "start_on=human"}
# Measured with langchain-core on the same runs; PEERS=1 measures again.
RECORDED = "trim_messages 52.7–100 %, start_on=human 11.6–56 %"


def rows() -> list[Row]:
    folder = data_folder()
    if folder is None:
        return [("unsafe truncations through the API", "no recordings here", RECORDED, "-")]
    peers = _peer_figures(folder) if os.environ.get("PEERS") else {}
    found = []
    for source, budgets in PLAN.items():
        runs = list(_runs(folder / source / "sessions.jsonl"))
        for budget in budgets:
            figures = measure(runs, budget)
            total = figures["truncations"]
            if not total:  # every history of this source fits
                continue
            unsafe, goal_lost = 100 * figures["unsafe"] / total, 100 * figures["lost_goal"] / total
            work = f"unsafe truncations through the API, {source} at {budget:,} tokens ({total})"
            ours = f"{unsafe:.1f} %, goal lost {goal_lost:.1f} %"
            found.append((work, ours, peers.get((source, budget), RECORDED), f"{figures['unsafe']} unsafe"))
    return found


def measure(runs: Sequence[list[Message]], budget: int) -> Counter[str]:
    """How often each invariant broke, and how often anything did."""
    figures: Counter[str] = Counter()
    for messages in runs:
        session, reported = f"/api/v1/sessions/{post('/api/v1/sessions', {'model': MODEL})['id']}", 0
        for point in _call_points(messages, budget):
            post(f"{session}/events", {"format": "openai", "events": messages[reported:point]})
            reported = point
            context = post(f"{session}/context", {"format": "openai", "budget_tokens": budget})
            broken = check(messages[:point], context, budget)
            figures.update(broken)
            figures["unsafe"] += bool(set(broken) - SAFE_TO_LOSE)
            figures["truncations"] += 1
    return figures


def check(history: Sequence[Message], context: Message, budget: int) -> list[str]:
    """The invariants of the shared safety benchmark, read from the messages that would be sent."""
    sent = [message for message in context["messages"] if message["role"] != "system"]
    people = [m for m in history if m["role"] == "user" and not m.get("is_demo") and not m.get("is_meta")]
    called = [call["id"] for message in sent for call in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    answered_in_source = {m.get("tool_call_id") for m in history if m["role"] == "tool"}
    failures = {
        "orphan_result": bool(set(answered) - set(called)),
        "dangling_call": any(call in answered_in_source and call not in answered for call in called),
        "not_user_first": bool(sent) and sent[0]["role"] != "user",
        "lost_system": history[0]["role"] == "system" and history[0]["content"] not in context["system"],
        "lost_goal": bool(people) and not _is_sent(people[0], sent),
        "lost_last_user": bool(people) and not _is_sent(people[-1], sent),
        "lost_newest": not _is_sent(history[-1], sent),
        "overflow": context["report"]["tokens_high"] > budget,
        "empty": not sent,
    }
    return [name for name in CHECKS if failures[name]] + ["invalid"] * (not context["report"]["valid"])


def _is_sent(message: Message, sent: Sequence[Message]) -> bool:
    """Whole, or shortened with the visible mark."""
    if message["role"] == "tool":
        return any(other.get("tool_call_id") == message["tool_call_id"] for other in sent)
    return any(
        _shows(str(other.get("content") or ""), message) for other in sent if other["role"] == message["role"]
    )


def _shows(shown: str, message: Message) -> bool:
    whole = message.get("content") or ""
    kept, mark, _ = shown.partition("\n[clipped")
    return whole in shown or bool(mark and kept and whole.startswith(kept))


def _runs(path: Path) -> Iterator[list[Message]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            messages: list[Message] = json.loads(line)["messages"]
            if any(message.get("tool_calls") for message in messages):
                yield messages


def _call_points(messages: Sequence[Message], budget: int) -> list[int]:
    """As the shared benchmark chooses them, by its own estimate of four characters a token."""
    spent, points = 0, []
    for index, message in enumerate(messages):
        if message["role"] == "assistant" and spent > budget:
            points.append(index)
        spent += _estimate(message)
    if len(points) <= CALL_POINTS:
        return points
    return [points[n * (len(points) - 1) // (CALL_POINTS - 1)] for n in range(CALL_POINTS)]


def _estimate(message: Message) -> int:
    length = len(message.get("content") or "")
    length += sum(len(json.dumps(call.get("function") or call)) for call in message.get("tool_calls") or ())
    return -(-length // 4) + 4


def _peer_figures(folder: Path) -> dict[tuple[str, int], str]:
    """The shared benchmark itself, run where langchain-core is installed and nothing of ours is."""
    script = folder.parent / "bench" / "safety_bench.py"
    if not script.is_file():
        return {}
    with peer_python("langchain-core") as python, tempfile.TemporaryDirectory() as home:
        if python is None:
            return {}
        result = Path(home) / "figures.json"
        environment = {**os.environ, "BENCH_DATA": str(folder)}
        work = [python, str(script), "--json", str(result)]
        subprocess.run(work, env=environment, capture_output=True, check=True)
        figures = json.loads(result.read_text())
    return {(source, budget): _shown(figures, source, budget) for source in PLAN for budget in PLAN[source]}


def _shown(figures: dict[str, dict[str, float]], source: str, budget: int) -> str:
    measured = {title: figures.get(f"{source}@{budget}#{name}") for name, title in PEERS.items()}
    return ", ".join(f"{title} {100 * row['unsafe']:.1f} %" for title, row in measured.items() if row)
