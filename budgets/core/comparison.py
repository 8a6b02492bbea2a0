"""One policy over any number of models, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from budgets.core.allocation import Allocation, allocate
from budgets.core.errors import NoInputRoom
from budgets.core.policy import Policy
from budgets.core.window import WindowBudget, window_budget, window_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A model to compare; an unknown window is taken from the policy's fallback."""

    model: str
    context_window: int | None
    latency_cap: int | None = None
    prompt_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """refusal says why a model has no budget at all under this policy."""

    model: str
    assumed_window: bool
    window: WindowBudget | None
    allocation: Allocation | None
    refusal: str | None


def compare_models(
    policy: Policy,
    candidates: Iterable[Candidate],
    *,
    mode: str | None = None,
    measured: Mapping[str, int] | None = None,
) -> list[ComparisonRow]:
    return [_row(policy, candidate, mode, measured) for candidate in candidates]


def _row(
    policy: Policy, candidate: Candidate, mode: str | None, measured: Mapping[str, int] | None
) -> ComparisonRow:
    size = window_size(policy.window, candidate.context_window)
    window, allocation, refusal = None, None, None
    try:
        window = window_budget(
            policy.window,
            size.tokens,
            mode=mode,
            latency_cap=candidate.latency_cap,
            prompt_limit=candidate.prompt_limit,
        )
        allocation = allocate(policy, window.max_input, measured)
    except NoInputRoom as error:
        refusal = error.detail
    return ComparisonRow(
        model=candidate.model,
        assumed_window=size.assumed,
        window=window,
        allocation=allocation,
        refusal=refusal,
    )
