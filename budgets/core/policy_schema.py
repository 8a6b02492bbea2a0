"""The fields of a policy document, their bounds, and the defaults that depend on a section's name."""

from __future__ import annotations

from typing import Any

from budgets.core.basis_points import WHOLE_BP
from budgets.core.policy_fields import Anything, Choice, Fields, Integer, Name, Rows, Switch, Table, Text

UNITS = ("tokens", "words", "lines")
FILLS = (
    "verbatim",
    "truncate",
    "priority",
    "newest_first",
    "head_middle_tail",
    "retrieve",
    "sticky_tail",
    "reserve",
)
LEVELS = ("normal", "warning", "critical")
BASES = ("budget", "window", "tokens")
ACTIONS = ("warn", "compact", "checkpoint", "none")
SIGNALS = (
    "BUDGET_WARNING",
    "BUDGET_CRITICAL",
    "COMPACT_DUE",
    "CHECKPOINT_WRITE",
    "CONTEXT_EXHAUSTED",
)
COMPACT_TEMPLATE = "/compact focus on {task} -- current CfA state is {state}"
SCRATCH_TEMPLATE = "After compaction, read {scratch_path} for preserved context."
WRAP_UP_TEMPLATE = (
    "The cost limit is reached and was not raised. Wrap up now: write down what is done, what is open "
    "and how to continue, then stop."
)
CLEAR_TEMPLATE = "The checkpoint is saved. Exit now; the next start resumes from it."

# R1
DEFAULT_SHARES_BP = {
    "system_prompt": 1500,
    "goal": 500,
    "memory": 1000,
    "working_state": 500,
    "conversation_summary": 1500,
    "retrieved_context": 1000,
    "recent_messages": 3500,
    "scaffolding_reminder": 500,
}
# D1
DEFAULT_WORDS = {"memory": 300, "conversation_summary": 500, "recent_messages": 2500}

STORY_OPTIONS: dict[str, int | bool] = {
    "start_bp": 2500,
    "middle_bp": 1000,
    "end_bp": 6000,
    "middle": True,
    "cap_start": 20,
    "cap_end": 20,
    "min_start": 3,
    "min_end": 5,
}
STICKY_OPTIONS = {"low_water_bp": 6000}

_BP = Integer(high=WHOLE_BP)
_SOME_BP = Integer(low=1, high=WHOLE_BP)
_TEMPLATE = Text(longest=4000, placeholders=("task", "state", "scratch_path"))

OPTIONS = {
    "head_middle_tail": Fields(
        fields={
            "start_bp": _BP,
            "middle_bp": _BP,
            "end_bp": _BP,
            "middle": Switch(),
            "cap_start": Integer(high=10_000),
            "cap_end": Integer(high=10_000),
            "min_start": Integer(high=10_000),
            "min_end": Integer(high=10_000),
        }
    ),
    "sticky_tail": Fields(fields={"low_water_bp": _SOME_BP}),
}
NO_OPTIONS = Fields(fields={})

SIZE = Fields(
    fields={
        "share_bp": _BP,
        "fixed_tokens": Integer(),
        "measured": Switch(only=True),
        "rest": Switch(only=True),
        "words": Integer(low=1),
    },
    one_of=True,
)
SECTION = Fields(
    fields={
        "name": Name(),
        "size": SIZE,
        "min_tokens": Integer(),
        "max_tokens": Integer(nullable=True),
        "fill": Choice(values=FILLS),
        "duplication_bp": Integer(low=WHOLE_BP, high=10 * WHOLE_BP),
        "lends": Switch(),
        "borrows": Switch(),
        "priority": Integer(high=1000),
        "volatility": Integer(high=1000),
        "purpose": Text(),
        "target_tokens": Rows(row=Integer(), fewest=2, most=2, nullable=True),
        "options": Anything(),
    },
    required=("name",),
)
WINDOW = Fields(
    fields={
        "safety_bp": _SOME_BP,
        "output_reserve": Fields(
            fields={"ratio_bp": _BP, "minimum_tokens": Integer(), "modes": Table(value=Integer())}
        ),
        "use_latency_cap": Switch(),
        "fallback_tokens": Integer(low=1),
    }
)
THRESHOLD = Fields(
    fields={
        "flag": Name(),
        "level": Choice(values=LEVELS[1:]),
        "basis": Choice(values=BASES),
        "at_bp": _SOME_BP,
        "at_tokens": Integer(low=1),
        "strict": Switch(),
        "clear_bp": Integer(high=WHOLE_BP, nullable=True),
        "clear_tokens": Integer(nullable=True),
        "cooldown_s": Integer(high=31_536_000),
        "latched": Switch(),
        "debug_only": Switch(),
        "signal": Choice(values=SIGNALS),
        "action": Choice(values=ACTIONS),
    },
    required=("flag",),
)
POLICY = Fields(
    fields={
        "window": WINDOW,
        "unit": Choice(values=UNITS),
        "sections": Rows(row=SECTION, fewest=1),
        "dedupe": Fields(fields={"summary_against_memory": Switch(), "near_duplicates": Switch()}),
        "thresholds": Rows(row=THRESHOLD),
        "triggers": Fields(
            fields={
                "story_complete": Switch(),
                "phase_transition": Switch(),
                "subagents_complete": Integer(high=10_000),
                "commands": Switch(),
            }
        ),
        "compaction": Fields(
            fields={
                "mode": Choice(values=("server", "agent")),
                "target_bp": _SOME_BP,
                "memory_share_bp": _BP,
                "minimum_progress_bp": _BP,
                "summariser": Choice(values=("builtin", "openai", "anthropic")),
                "max_payback_turns": Integer(low=1, high=1_000_000, nullable=True),
            }
        ),
        "interventions": Fields(
            fields={
                "compact": _TEMPLATE,
                "compact_scratch": _TEMPLATE,
                "wrap_up": _TEMPLATE,
                "clear": _TEMPLATE,
            }
        ),
        "base_load_tokens": Integer(),
        "retrieval": Fields(fields={"across_sessions": Switch()}),
        "dead_ends": Fields(fields={"repeats": Integer(low=2, high=1000)}),
    },
    required=("sections",),
)


def default_size(name: str, unit: str) -> dict[str, int] | None:
    """What a section without a size gets: the word limits of D1, else the shares of R1, else nothing."""
    if unit == "words" and name in DEFAULT_WORDS:
        return {"words": DEFAULT_WORDS[name]}
    if unit != "words" and name in DEFAULT_SHARES_BP:
        return {"share_bp": DEFAULT_SHARES_BP[name]}
    return None


def default_thresholds() -> list[dict[str, Any]]:
    """R7: a warning from 80 % on, compression required above 90 % of the budget."""
    return [
        {
            "flag": "warning",
            "level": "warning",
            "basis": "budget",
            "at_bp": 8000,
            "strict": False,
            "latched": False,
            "signal": "BUDGET_WARNING",
            "action": "warn",
        },
        {
            "flag": "compact",
            "level": "critical",
            "basis": "budget",
            "at_bp": 9000,
            "strict": True,
            "latched": False,
            "signal": "BUDGET_CRITICAL",
            "action": "compact",
        },
    ]
