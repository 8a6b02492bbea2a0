"""What a preset is, and the sentences that say what each common section is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]

PURPOSES = {
    "system_prompt": "Who the agent is, its tools, the task's instructions and the output format.",
    "goal": "What the agent is trying to reach now; it keeps long conversations on course.",
    "memory": "Facts, preferences, decisions, errors and their resolutions, active files and their purpose.",
    "working_state": "What changes all the time: task status, the error at hand, the file being edited.",
    "conversation_summary": "Earlier exchanges in short: decisions, progress, what is finished.",
    "retrieved_context": "Archived chunks, files and other sessions' content that answer the current query.",
    "recent_messages": "The latest messages word for word, with tool calls and their results.",
    "scaffolding_reminder": "Reminders for the next answer: format, good practice, what to do about errors.",
}

# Ascending order of change keeps the prefix cacheable; what depends on the query comes after history.
VOLATILITIES = {
    "system_prompt": 0,
    "goal": 10,
    "memory": 20,
    "conversation_summary": 30,
    "recent_messages": 50,
    "working_state": 70,
    "retrieved_context": 80,
    "scaffolding_reminder": 90,
}

PRIORITIES = {
    "system_prompt": 100,
    "goal": 90,
    "recent_messages": 80,
    "memory": 70,
    "working_state": 60,
    "conversation_summary": 50,
    "retrieved_context": 40,
    "scaffolding_reminder": 30,
}

FILLS = {
    "system_prompt": "verbatim",
    "goal": "verbatim",
    "memory": "priority",
    "working_state": "truncate",
    "conversation_summary": "truncate",
    "retrieved_context": "retrieve",
    "recent_messages": "sticky_tail",
    "scaffolding_reminder": "truncate",
}

BORROWERS = ("system_prompt", "goal", "conversation_summary", "recent_messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    name: str
    title: str
    explanation: str
    document: Document


def section(name: str, size: Document, **changes: Any) -> Document:
    """A section of the common vocabulary with its usual fill, order and purpose."""
    return {
        "name": name,
        "size": size,
        "fill": FILLS.get(name, "truncate"),
        "borrows": name in BORROWERS,
        "priority": PRIORITIES.get(name, 50),
        "volatility": VOLATILITIES.get(name, 50),
        "purpose": PURPOSES.get(name, ""),
        **changes,
    }
