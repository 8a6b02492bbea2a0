"""Budgets for callers without a session: nothing here writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from budgets.core.allocation import Allocation, allocate
from budgets.core.comparison import Candidate, ComparisonRow, compare_models
from budgets.core.policy import Policy, SectionPolicy, Size, WindowPolicy
from budgets.core.ratios import refuse_bad_shares
from budgets.core.window import WindowBudget, window_budget
from budgets.services.models import model_card, model_cards, resolved
from budgets.services.profiles import policy_source

GIVEN = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a budget is wanted for: a model, a context window or a total, exactly one of them."""

    model: str | None = None
    context_window: int | None = None
    total: int | None = None
    profile: str | None = None
    shares_bp: Mapping[str, int] | None = None
    mode: str | None = None
    max_output: int | None = None
    measured: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """source is catalogue, override, fallback (an unknown model) or given (by the caller)."""

    budget: WindowBudget
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculated:
    allocation: Allocation
    window: Window | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    row: ComparisonRow
    source: str


def calculate(*, project_id: str, wanted: Wanted) -> Calculated:
    policy = policy_source(project_id=project_id, ref=wanted.profile).policy
    if wanted.shares_bp is not None:
        policy = with_shares(policy, wanted.shares_bp)
    window = _window(project_id, policy.window, wanted)
    total = window.budget.max_input if window else wanted.total or 0
    return Calculated(allocation=allocate(policy, total, wanted.measured), window=window)


def with_shares(policy: Policy, shares_bp: Mapping[str, int]) -> Policy:
    """The same window policy with sections by these shares."""
    refuse_bad_shares(shares_bp)
    sections = tuple(
        SectionPolicy(name=name, size=Size(kind="share", amount=share)) for name, share in shares_bp.items()
    )
    return Policy(sections=sections, window=policy.window)


def compare(
    *,
    project_id: str,
    policy: Policy,
    models: Sequence[str],
    mode: str | None = None,
    measured: Mapping[str, int] | None = None,
) -> list[Compared]:
    cards = model_cards(project_id=project_id, names=models)
    candidates = [
        Candidate(
            model=card.name,
            context_window=card.fact("context_window"),
            latency_cap=card.fact("latency_cap"),
            prompt_limit=card.prompt_limit,
        )
        for card in cards
    ]
    rows = compare_models(policy, candidates, mode=mode, measured=measured)
    return [Compared(row=row, source=card.source) for row, card in zip(rows, cards, strict=True)]


def _window(project_id: str, policy: WindowPolicy, wanted: Wanted) -> Window | None:
    tokens, latency_cap, prompt_limit, source = wanted.context_window, None, None, GIVEN
    if wanted.model is not None:
        # Read afresh: whoever has just changed a model asks here what came of it.
        card = model_card(project_id=project_id, name=wanted.model)
        model = resolved(card, policy.fallback_tokens)
        tokens, source = model.context_window, model.source
        latency_cap, prompt_limit = model.latency_cap, model.prompt_limit
    if tokens is None:
        return None
    budget = window_budget(
        policy,
        tokens,
        mode=wanted.mode,
        max_output=wanted.max_output,
        latency_cap=latency_cap,
        prompt_limit=prompt_limit,
    )
    return Window(budget=budget, source=source)
