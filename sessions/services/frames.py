"""What a session's numbers are measured against: its policy, model, window, budget and counter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from budgets.core.allocation import Allocation, allocate
from budgets.core.policy import Policy
from budgets.core.window import WindowBudget, compaction_target, window_budget
from budgets.models import ProfileRevision
from budgets.services.models import ResolvedModel, counter, resolve_model
from budgets.services.profiles import current_revision_id, policy_of, revision_by_id
from budgets.tokens import Counter, message_tokens
from sessions.core.message import words_of
from sessions.models import AgentSession


@dataclass(frozen=True)
class Frame:
    """Read once per request; immutable, so that every step of it sees the same numbers."""

    revision: ProfileRevision
    policy: Policy
    model: ResolvedModel
    window: WindowBudget
    counter: Counter

    @property
    def total(self) -> int:
        return self.window.max_input

    @property
    def context_window(self) -> int:
        return self.window.context_window

    @cached_property
    def target_tokens(self) -> int:
        return min(compaction_target(self.policy.compaction, self.context_window), self.total)

    def allocation(self, measured: Mapping[str, int] | None = None) -> Allocation:
        return allocate(self.policy, self.total, measured)

    def count_body(self, body: dict[str, Any]) -> dict[str, int]:
        """Every count that is kept of a message, made once."""
        return {self.counter.name: message_tokens(self.counter, body), "words": words_of(body)}


def frame_of(
    session: AgentSession, *, mode: str | None = None, max_output: int | None = None, model: str | None = None
) -> Frame:
    revision = revision_by_id(session.pinned_revision_id or current_revision_id(session.profile))
    policy = policy_of(revision)
    resolved = resolve_model(
        project_id=session.project_id,
        name=model or session.model,
        fallback_tokens=policy.window.fallback_tokens,
    )
    window = window_budget(
        policy.window,
        resolved.context_window,
        mode=mode,
        max_output=max_output,
        latency_cap=resolved.latency_cap,
        prompt_limit=resolved.prompt_limit,
    )
    return Frame(
        revision=revision,
        policy=policy,
        model=resolved,
        window=window,
        counter=counter(resolved, (session.ratio_bp, session.margin_bp)),
    )
