"""What a summariser is asked and what it answers."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Protocol

from budgets.core.usage import TokenUsage


def new_delimiter() -> str:
    """128 random bits: a text that was written before cannot hold it."""
    return f"material-{secrets.token_hex(16)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """`text_chunks` are what is folded away, each small enough for one call; `focus` is what matters most."""

    text_chunks: tuple[str, ...]
    target_tokens: int
    previous_summary: str = ""
    focus: str = ""
    delimiter: str = field(default_factory=new_delimiter)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryReply:
    """`usage` is the sum of all calls, or None when one of them did not report it."""

    text: str
    usage: TokenUsage | None
    model: str


class Summariser(Protocol):
    def summarise(self, request: SummaryRequest) -> SummaryReply: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One call: instructions that are ours, material that is not, and the most that may be answered."""

    instructions: str
    material: str
    max_output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One call's answer, before anybody has judged it; `stopped` is the vendor's reason to stop."""

    text: str
    usage: TokenUsage | None
    model: str
    stopped: str
