"""The exact sentences that agents and people read about a budget."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from budgets.core.basis_points import percent_floored, percent_rounded
from budgets.core.policy import InterventionTemplates
from budgets.core.usage import TREND_TURNS, recent_mean

COMPRESSING = "[Memory] Context threshold reached, compressing..."
ADJUSTED = "[Budget] Compressed and adjusted budget for next call"
CLAUSE = " -- "
PLACEHOLDER = re.compile(r"\{(\w+)\}")
COMMAND = re.compile(r"/\S+")


def budget_warning(used: int, total: int) -> str:
    percent = percent_floored(used, total)
    return f"[Budget] Warning: {percent}% of token budget used. {total - used} tokens remaining."


def budget_used(used: int, total: int) -> str:
    return f"[Budget] Used {used} / {total} tokens ({percent_floored(used, total)}%)"


def section_usage(used: Mapping[str, int], planned: Mapping[str, int]) -> str:
    """A line per section of the plan."""
    rows = [f"  {name}: {used.get(name, 0)} / {tokens} tokens" for name, tokens in planned.items()]
    return "\n".join(["[Budget] Section usage:", *rows])


def usage_trend(turn: int, history: Sequence[int]) -> str | None:
    """Said at every fifth turn."""
    mean = recent_mean(history)
    if mean is None or turn < 1 or turn % TREND_TURNS:
        return None
    return f"[Budget] Last {TREND_TURNS} iterations avg: {mean} tokens"


def low_budget(used: int, total: int) -> str:
    remaining = total - used
    return f"[Budget] Low budget alert! {remaining} tokens remaining ({percent_rounded(remaining, total)}%)"


def compressed(before: int, after: int, chunks: int) -> str:
    return f"[Memory] Compressed: {before} → {after} tokens (archived {chunks} chunks)"


def compaction_sequence(*, used: int, total: int, before: int, after: int, chunks: int) -> list[str]:
    """What is said around a compaction, in order."""
    return [low_budget(used, total), COMPRESSING, compressed(before, after, chunks), ADJUSTED]


def persistent_memory(memory: str) -> str | None:
    return f"[Persistent Memory]\n{memory}" if memory.strip() else None


def context_too_large(*, model: str, used: int, max_input: int, safe: int) -> str:
    return (
        f"Context too large for model {model}: input uses {used:,} tokens, "
        f"max allowed is {max_input:,} tokens ({percent_floored(max_input, safe)}% of {safe:,})"
    )


def too_large_remedies(*, used: int, max_input: int) -> list[str]:
    """The system never switches models by itself; these are the caller's choices."""
    return [
        f"Shorten the verbatim parts (system prompt, goal, pinned messages) by {used - max_input:,} tokens.",
        "Compact the session, then ask again.",
        "Ask for less output, or for a mode with a smaller output reserve.",
        "Switch the session to a model with a larger window yourself.",
    ]


def compact_intervention(
    templates: InterventionTemplates,
    *,
    task: str | None = None,
    state: str | None = None,
    scratch_path: str | None = None,
) -> str:
    """The command for agents that compact themselves; with a scratch path, a second line."""
    values = {"task": task, "state": state, "scratch_path": scratch_path}
    line = fill_template(templates.compact, values)
    return f"{line}\n{fill_template(templates.compact_scratch, values)}" if scratch_path else line


def fill_template(template: str, values: Mapping[str, str | None]) -> str:
    """Clauses stand between ` -- `; one whose value is absent is dropped, a leading /command stays.

    Values are inserted once and never read as a template again.
    """
    command = COMMAND.match(template)
    head = command.group() if command else ""
    clauses = template[len(head) :].strip().split(CLAUSE)
    kept = [_insert(clause, values) for clause in clauses if _is_filled(clause, values)]
    return " ".join(part for part in (head, CLAUSE.join(kept)) if part)


def _is_filled(clause: str, values: Mapping[str, str | None]) -> bool:
    return all(values.get(name) for name in PLACEHOLDER.findall(clause))


def _insert(clause: str, values: Mapping[str, str | None]) -> str:
    return PLACEHOLDER.sub(lambda found: values[found[1]] or "", clause)
