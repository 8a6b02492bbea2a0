"""Names that work still needs after a compaction: `python -m benchmarks.identifiers_bench`.

At several points of real agent runs everything so far is folded into a summary of the size that an LLM
writes. Of the file paths and identifiers that the next 20 tool calls use and that had been seen before, how
many does the summary still name? The runs lie outside the project (CTXBUDGET_SHARED_DATA, or ../shared/data).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from providers.formats import claude_code, codex
from sessions.core.message import Body, StoredMessage, stored_message
from sessions.core.reading import text_of, tool_calls
from sessions.core.summary import summarise

NEXT_CALLS = 20
POINTS_PER_RUN = 6
# What coding agents' own summaries take; a summary never takes more than a quarter of what it replaces.
SUMMARY_TOKENS = (1_000, 2_000)
LEAST_CALLS_AHEAD = 3

# The scorer's own idea of a name, on purpose not the summariser's.
_PATH = re.compile(
    r"(?<![\w:/.])(?:[\w.@~+-]*/)+[\w.@+-]*\w|(?<![\w.])[\w-]+\.(?:py|js|ts|tsx|jsx|json|md|toml|yaml|yml|txt|sh)\b(?!\()"
)
_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Za-z]+\d\w*|\d{6,})\b")

Summarise = Callable[[Sequence[StoredMessage], int], str]


@dataclass(frozen=True, slots=True)
class Score:
    needed: int = 0
    kept: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(self.needed + other.needed, self.kept + other.kept)

    def percent(self) -> str:
        return f"{100 * self.kept / self.needed:.1f}" if self.needed else "-"


def count(text: str) -> int:
    return -(-len(text) // 4)


def ours(messages: Sequence[StoredMessage], budget: int) -> str:
    return summarise(messages, None, budget, count)


def clipped_tail(messages: Sequence[StoredMessage], budget: int) -> str:
    """The newest text that fits: what remains when old turns are simply dropped."""
    whole = "\n".join(written(message) for message in messages)
    return whole[-4 * budget :]


def rows() -> list[tuple[str, str, str, str]]:
    runs = list(agent_runs())
    if not runs:
        return [("names the next 20 calls need", "skipped: no agent runs here", "", "")]
    found = []
    for budget in SUMMARY_TOKENS:
        (paths, names), (tail_paths, tail_names) = (measure(runs, budget, s) for s in (ours, clipped_tail))
        found.append(
            (
                f"paths / identifiers the next {NEXT_CALLS} calls need, {budget} tokens (n={names.needed})",
                f"{paths.percent()} / {names.percent()} %",
                f"clipped tail {tail_paths.percent()} / {tail_names.percent()} %",
                "",
            )
        )
    return found


def measure(runs: Sequence[Sequence[StoredMessage]], budget: int, summary: Summarise) -> tuple[Score, Score]:
    paths, names = Score(), Score()
    for messages in runs:
        for point in points(messages):
            before, after = messages[:point], messages[point:]
            size = min(budget, sum(m.tokens for m in before) // 4)
            text = summary(before, size)
            assert count(text) <= size
            seen = "\n".join(written(message) for message in before)
            paths += score(needed(after, _PATH), seen, text)
            names += score(needed(after, _IDENTIFIER), seen, text)
    return paths, names


def score(wanted: set[str], seen: str, summary: str) -> Score:
    still = {name for name in wanted if name in seen}
    return Score(len(still), sum(name in summary for name in still))


def needed(messages: Sequence[StoredMessage], pattern: re.Pattern[str]) -> set[str]:
    calls = [call for message in messages for call in tool_calls(message)][:NEXT_CALLS]
    return {name for call in calls for name in pattern.findall(argument_text(call.arguments) or call.raw)}


def argument_text(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(argument_text(inner) for inner in value.values())
    if isinstance(value, list):
        return "\n".join(argument_text(inner) for inner in value)
    return str(value)


def written(message: StoredMessage) -> str:
    calls = (argument_text(call.arguments) or call.raw for call in tool_calls(message))
    return "\n".join([text_of(message), *calls])


def points(messages: Sequence[StoredMessage]) -> list[int]:
    """Places between whole tool groups, evenly spread, with calls left to make."""
    places = [
        place
        for place in range(4, len(messages))
        if messages[place].role != "tool"
        and sum(len(m.call_ids) for m in messages[place:]) >= LEAST_CALLS_AHEAD
    ]
    step = max(1, len(places) // POINTS_PER_RUN)
    return places[step - 1 :: step][:POINTS_PER_RUN]


def agent_runs() -> Iterator[list[StoredMessage]]:
    folder = Path(os.environ.get("CTXBUDGET_SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data")
    for path in sorted(folder.glob("claude-code/*/*.jsonl")):
        yield from _run(event.message for event in claude_code.parse(_lines(path)))
    for path in sorted(folder.glob("codex/*.jsonl")):
        yield from _run(event.message for event in codex.parse(_lines(path)))
    for source in ("swe-agent", "tau-bench"):
        for path in folder.glob(f"{source}/sessions.jsonl"):
            for session in _lines(path):
                yield from _run(_with_calls(session["messages"]))


_FENCED = re.compile(r"```\w*\n(.+?)```", re.DOTALL)


def _with_calls(bodies: list[Body]) -> Iterator[Body]:
    """Agents that write their command into a fenced block call a tool all the same."""
    waiting = None
    for index, body in enumerate(bodies):
        fenced = _FENCED.findall(str(body.get("content") or "")) if body["role"] == "assistant" else []
        if waiting and body["role"] == "user":
            yield {"role": "tool", "tool_call_id": waiting, "content": body["content"]}
        elif fenced and not body.get("tool_calls"):
            arguments = json.dumps({"command": fenced[-1]})
            function = {"name": "bash", "arguments": arguments}
            yield {**body, "tool_calls": [{"id": f"f{index}", "type": "function", "function": function}]}
        else:
            yield body
        waiting = f"f{index}" if fenced and not body.get("tool_calls") else None


def _run(bodies: Iterator[Body | None]) -> Iterator[list[StoredMessage]]:
    """A run worth measuring has enough tool calls."""
    messages = [
        stored_message(seq=seq, body=body, count_message=_body_tokens)
        for seq, body in enumerate((body for body in bodies if body), start=1)
    ]
    if sum(len(m.call_ids) for m in messages) > LEAST_CALLS_AHEAD:
        yield messages


def _body_tokens(body: Body) -> int:
    return count(json.dumps(body))


def _lines(path: Path) -> list[Any]:
    """Lines end with a line feed alone, texts contain other separators; what is no JSON is left out."""
    found = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


if __name__ == "__main__":
    for row in rows():
        print("  ".join(row))
