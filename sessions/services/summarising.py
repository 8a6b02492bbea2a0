"""Drafts a summary with the profile's summariser, and falls back to the built-in one when it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions.core.message import StoredMessage
from sessions.core.summary import summarise
from sessions.models import AgentSession
from sessions.services.frames import Frame

BUILTIN = "builtin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A summary that may be committed, and how it came about."""

    text: str
    source: str
    fallback_reason: str = ""
    checks: dict[str, Any] = field(default_factory=dict)


def draft_summary(
    session: AgentSession,
    frame: Frame,
    *,
    messages: Sequence[StoredMessage],
    previous: str,
    budget_tokens: int,
) -> Draft:
    text = summarise(messages, previous, budget_tokens, frame.counter.count)
    return Draft(text=text, source=BUILTIN)
