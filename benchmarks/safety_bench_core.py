"""Unsafe truncations on real agent runs: `python -m benchmarks.safety_bench_core`.

Replays the public runs of tau-bench and swe-agent: at every model call whose history exceeds the budget the
context is assembled and tested. A token is four characters here, so that the figures compare with the peers'.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from budgets.core.policy import Policy, parse_policy
from budgets.core.presets import PRESETS
from budgets.core.window import WindowBudget
from sessions.core.assembly import AssemblyRequest, ContextPlan, Ruler, anchors_of, assemble
from sessions.core.message import Body, StoredMessage, stored_message

PLAN = {"tau-bench": (2_000, 4_000), "swe-agent": (4_000, 8_000)}
CALL_POINTS = 10
CHECKS = (
    "orphan_result",
    "dangling_call",
    "not_user_first",
    "lost_system",
    "lost_goal",
    "lost_last_user",
    "lost_newest",
    "overflow",
    "empty",
)
# The goal is shown apart, as in the peers' table: a cut by recency alone loses it by construction.
SAFE_TO_LOSE = {"lost_goal", "not_user_first"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    truncations: int
    found: Counter[str]


def data_folder() -> Path | None:
    """The shared recordings, where this machine has them."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("CTXBUDGET_SHARED_DATA", beside))
    return folder if folder.is_dir() else None


def measure(folder: Path, source: str, budget: int, *, sticky: bool = False) -> Measured:
    policy = parse_policy(PRESETS["ratio-default"].document)
    found: Counter[str] = Counter()
    truncations = 0
    for messages in _sessions(folder / source / "sessions.jsonl"):
        for point in _call_points(messages, budget):
            history = messages[:point]
            problems = check(history, _assembled(history, policy, budget, sticky=sticky), budget)
            found.update(problems)
            found["unsafe"] += bool(set(problems) - SAFE_TO_LOSE)
            truncations += 1
    return Measured(truncations=truncations, found=found)


def check(history: Sequence[StoredMessage], plan: ContextPlan, budget: int) -> list[str]:
    """The invariants of the shared safety benchmark, read from the messages that would be sent."""
    kept = {seq for seq in plan.seqs if seq}
    spoken = [body for body in plan.messages if body["role"] != "system"]
    users = [m.seq for m in history if m.role == "user" and not m.body.get("is_demo")]
    calls = {call["id"] for body in plan.messages for call in body.get("tool_calls") or ()}
    answered = {body.get("tool_call_id") for body in plan.messages if body["role"] == "tool"}
    answered_in_source = {m.result_id for m in history if m.result_id is not None}
    cost = sum(map(_count_message, plan.messages)) + (
        _count_message({"content": plan.system}) if plan.system else 0
    )
    failures = {
        "orphan_result": bool(answered - calls),
        "dangling_call": any(call in answered_in_source and call not in answered for call in calls),
        "not_user_first": bool(spoken) and spoken[0]["role"] != "user",
        "lost_system": history[0].role == "system" and history[0].seq not in kept,
        "lost_goal": bool(users) and users[0] not in kept,
        "lost_last_user": bool(users) and users[-1] not in kept,
        "lost_newest": history[-1].seq not in kept,
        "overflow": cost > budget,
        "empty": not spoken,
    }
    return [name for name in CHECKS if failures[name]]


def _sessions(path: Path) -> Iterator[list[StoredMessage]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            bodies: list[Body] = json.loads(line)["messages"]
            if any(body.get("tool_calls") for body in bodies):
                yield [_stored(seq, body) for seq, body in enumerate(bodies, start=1)]


def _stored(seq: int, body: Body) -> StoredMessage:
    is_human = body["role"] == "user" and not body.get("is_demo") and not body.get("is_meta")
    return stored_message(seq=seq, body=body, count_message=_count_message, is_human=is_human)


def _call_points(messages: Sequence[StoredMessage], budget: int) -> list[int]:
    """Up to ten model calls, evenly spaced, whose history is larger than the budget."""
    spent, points = 0, []
    for index, message in enumerate(messages):
        if message.role == "assistant" and spent > budget:
            points.append(index)
        spent += message.tokens
    if len(points) <= CALL_POINTS:
        return points
    return [points[n * (len(points) - 1) // (CALL_POINTS - 1)] for n in range(CALL_POINTS)]


def _assembled(history: Sequence[StoredMessage], policy: Policy, budget: int, *, sticky: bool) -> ContextPlan:
    return assemble(
        AssemblyRequest(
            policy=policy,
            window=WindowBudget(
                context_window=budget, safe=budget, output_reserve=0, max_input=budget, mode="normal"
            ),
            model="a-model",
            ruler=Ruler(count=_count, cut=_cut, count_message=_count_message),
            tail=history,
            anchors=anchors_of(history),
            head_seq=len(history),
            sticky=sticky,
        )
    )


def _count(text: str) -> int:
    return -(-len(text) // 4)


def _cut(text: str, limit: int) -> str:
    return text[: max(limit, 0) * 4]


def _count_message(body: dict[str, Any]) -> int:
    length = len(body.get("content") or "")
    length += sum(len(json.dumps(call.get("function") or call)) for call in body.get("tool_calls") or ())
    return -(-length // 4) + 4


def main() -> None:
    folder = data_folder()
    if folder is None:
        raise SystemExit("The shared recordings are not here; name their folder in CTXBUDGET_SHARED_DATA.")
    columns = (*CHECKS, "unsafe")
    print(f"{'% of truncations':28}" + "".join(f"{name:>16}" for name in columns))
    for source, budgets in PLAN.items():
        for budget in budgets:
            for sticky in (False, True):
                measured = measure(folder, source, budget, sticky=sticky)
                name = f"{source} {budget:,}{' sticky' if sticky else ''} ({measured.truncations})"
                shares = (100 * measured.found[column] / max(measured.truncations, 1) for column in columns)
                print(f"{name:28}" + "".join(f"{share:16.1f}" for share in shares))


if __name__ == "__main__":
    main()
