"""From a model's context window to the tokens that input may use, and to what compaction aims at."""

from __future__ import annotations

from dataclasses import dataclass

from budgets.core.basis_points import share_of
from budgets.core.errors import NegativeTokens, NoInputRoom, UnknownMode
from budgets.core.policy import CompactionPolicy, OutputReserve, WindowPolicy

NORMAL_MODE = "normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowBudget:
    context_window: int
    safe: int
    output_reserve: int
    max_input: int
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSize:
    """assumed: the model is unknown and the policy's fallback stands in for its window."""

    tokens: int
    assumed: bool


def window_size(policy: WindowPolicy, known_tokens: int | None) -> WindowSize:
    if known_tokens is None:
        return WindowSize(tokens=policy.fallback_tokens, assumed=True)
    return WindowSize(tokens=known_tokens, assumed=False)


def window_budget(
    policy: WindowPolicy,
    context_window: int,
    *,
    mode: str | None = None,
    max_output: int | None = None,
    latency_cap: int | None = None,
    prompt_limit: int | None = None,
) -> WindowBudget:
    """max_output is what this one call asks for: input and output together never pass the window.

    prompt_limit is the vendor's own limit of a prompt, where that is below the window.
    """
    _refuse_negative(context_window, max_output, latency_cap, prompt_limit)
    safe = share_of(context_window, policy.safety_bp)
    if policy.use_latency_cap and latency_cap is not None:
        safe = min(safe, latency_cap)
    reserve = _output_reserve(policy.output_reserve, safe, mode)
    if max_output is not None:
        reserve = max(reserve, safe + max_output - context_window)
    if safe <= reserve:
        raise NoInputRoom(context_window=context_window, safe=safe, output_reserve=reserve)
    return WindowBudget(
        context_window=context_window,
        safe=safe,
        output_reserve=reserve,
        max_input=safe - reserve if prompt_limit is None else min(safe - reserve, prompt_limit),
        mode=mode or NORMAL_MODE,
    )


def compaction_target(policy: CompactionPolicy, context_window: int) -> int:
    return share_of(context_window, policy.target_bp)


def compaction_memory(policy: CompactionPolicy, context_window: int) -> int:
    """Tokens of persistent memory that go into a compacted context."""
    return share_of(compaction_target(policy, context_window), policy.memory_share_bp)


def _output_reserve(policy: OutputReserve, safe: int, mode: str | None) -> int:
    reserve = max(share_of(safe, policy.ratio_bp), policy.minimum_tokens)
    if mode is None or mode == NORMAL_MODE:
        return reserve
    if mode not in policy.modes:
        known = ", ".join([NORMAL_MODE, *sorted(policy.modes)])
        raise UnknownMode(f"The mode {mode!r} is not in the policy, which knows {known}.", pointer="/mode")
    return max(reserve, policy.modes[mode])


def _refuse_negative(*amounts: int | None) -> None:
    if any(amount is not None and amount < 0 for amount in amounts):
        raise NegativeTokens("Windows, caps and outputs cannot be negative.")
