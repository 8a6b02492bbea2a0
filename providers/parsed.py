"""What every adapter returns: one vendor event in the product's own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from budgets.core.usage import TokenUsage

Kind = Literal[
    "message",
    "usage",
    "state_change",
    "dead_end",
    "phase",
    "story_complete",
    "subagent_complete",
    "protocol_load",
    "protocol_unload",
    "checkpoint",
    "note",
    "summary",
    "unknown",
]

# response: one model call. result: a run's closing report, which repeats the calls before it (the meter of
# the context takes it, the meter of money must not add it to those calls). subagent: money only, its prompt
# is not this session's.
UsageScope = Literal["response", "result", "subagent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEvent:
    """One event; a vendor's event with several messages becomes several of these with one `index`.

    `response_id` names the model call: usage with a known response id replaces, it never adds.
    `starts_epoch` marks an agent's own compaction: what it reported before no longer counts.
    """

    kind: Kind
    payload: dict[str, Any]
    index: int = 0
    event_id: str | None = None
    message: dict[str, Any] | None = None
    is_human: bool = False
    pinned: bool = False
    usage: TokenUsage | None = None
    usage_scope: UsageScope = "response"
    response_id: str | None = None
    model: str | None = None
    text: str | None = None
    starts_epoch: bool = False
