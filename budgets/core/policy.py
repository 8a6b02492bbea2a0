"""A policy as values: how a window becomes sections, when pressure speaks, what compaction aims at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from budgets.core.errors import PolicyInvalid
from budgets.core.errors import Problem as Problem
from budgets.core.policy_problems import problems as problems
from budgets.core.policy_schema import (
    CLEAR_TEMPLATE,
    COMPACT_TEMPLATE,
    SCRATCH_TEMPLATE,
    WRAP_UP_TEMPLATE,
    default_size,
    default_thresholds,
)

Document = Mapping[str, Any]
_MEASURES = ("at_bp", "at_tokens", "clear_bp", "clear_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReserve:
    ratio_bp: int = 0
    minimum_tokens: int = 0
    modes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPolicy:
    safety_bp: int = 8000
    output_reserve: OutputReserve = OutputReserve()
    use_latency_cap: bool = False
    fallback_tokens: int = 32_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """kind is share (amount in basis points), fixed (tokens), words (words), measured or rest (amount 0)."""

    kind: str
    amount: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionPolicy:
    name: str
    size: Size
    min_tokens: int = 0
    max_tokens: int | None = None
    fill: str = "truncate"
    duplication_bp: int = 10_000
    lends: bool = True
    borrows: bool = False
    priority: int = 50
    volatility: int = 50
    purpose: str = ""
    target_tokens: tuple[int, int] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupePolicy:
    summary_against_memory: bool = True
    near_duplicates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """at and clear are basis points of the budget or the window, or tokens, as the basis says."""

    flag: str
    level: str
    basis: str
    at: int
    strict: bool = False
    clear: int | None = None
    cooldown_s: int = 0
    latched: bool = True
    debug_only: bool = False
    signal: str = "BUDGET_WARNING"
    action: str = "warn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    story_complete: bool = False
    phase_transition: bool = False
    subagents_complete: int = 0
    commands: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPolicy:
    mode: str = "server"
    target_bp: int = 5000
    memory_share_bp: int = 2000
    minimum_progress_bp: int = 1000
    summariser: str = "builtin"
    max_payback_turns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionTemplates:
    compact: str = COMPACT_TEMPLATE
    compact_scratch: str = SCRATCH_TEMPLATE
    wrap_up: str = WRAP_UP_TEMPLATE
    clear: str = CLEAR_TEMPLATE


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalPolicy:
    across_sessions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadEndPolicy:
    repeats: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    sections: tuple[SectionPolicy, ...]
    window: WindowPolicy = WindowPolicy()
    unit: str = "tokens"
    dedupe: DedupePolicy = DedupePolicy()
    thresholds: tuple[Threshold, ...] = ()
    triggers: Triggers = Triggers()
    compaction: CompactionPolicy = CompactionPolicy()
    interventions: InterventionTemplates = InterventionTemplates()
    base_load_tokens: int = 0
    retrieval: RetrievalPolicy = RetrievalPolicy()
    dead_ends: DeadEndPolicy = DeadEndPolicy()

    def section(self, name: str) -> SectionPolicy | None:
        return next((section for section in self.sections if section.name == name), None)


def parse_policy(document: object) -> Policy:
    found = problems(document)
    if found:
        raise PolicyInvalid(found)
    assert isinstance(document, Mapping)
    unit = document.get("unit", "tokens")
    return Policy(
        window=_window(document.get("window", {})),
        unit=unit,
        sections=tuple(_section(section, unit) for section in document["sections"]),
        dedupe=DedupePolicy(**document.get("dedupe", {})),
        thresholds=tuple(_threshold(row) for row in document.get("thresholds", default_thresholds())),
        triggers=Triggers(**document.get("triggers", {})),
        compaction=CompactionPolicy(**document.get("compaction", {})),
        interventions=InterventionTemplates(**document.get("interventions", {})),
        base_load_tokens=document.get("base_load_tokens", 0),
        retrieval=RetrievalPolicy(**document.get("retrieval", {})),
        dead_ends=DeadEndPolicy(**document.get("dead_ends", {})),
    )


def _window(document: Document) -> WindowPolicy:
    reserve = OutputReserve(**document.get("output_reserve", {}))
    return WindowPolicy(**{**document, "output_reserve": reserve})


def _section(document: Document, unit: str) -> SectionPolicy:
    fill = document.get("fill", "truncate")
    target = document.get("target_tokens")
    changed = {
        "size": _size(document.get("size") or default_size(document["name"], unit) or {}),
        "lends": document.get("lends", fill != "reserve"),
        "target_tokens": tuple(target) if target is not None else None,
    }
    return SectionPolicy(**{**document, **changed})


def _size(document: Document) -> Size:
    match document:
        case {"share_bp": amount}:
            return Size(kind="share", amount=amount)
        case {"fixed_tokens": amount}:
            return Size(kind="fixed", amount=amount)
        case {"words": amount}:
            return Size(kind="words", amount=amount)
        case {"measured": True}:
            return Size(kind="measured")
    return Size(kind="rest")


def _threshold(document: Document) -> Threshold:
    absolute = "at_tokens" in document
    unit = "tokens" if absolute else "bp"
    level = document.get("level", "warning")
    plain = {key: value for key, value in document.items() if key not in _MEASURES}
    defaults = {
        "level": level,
        "basis": "tokens" if absolute else "budget",
        "signal": "BUDGET_CRITICAL" if level == "critical" else "BUDGET_WARNING",
    }
    return Threshold(**{**defaults, **plain}, at=document[f"at_{unit}"], clear=document.get(f"clear_{unit}"))


def dump(policy: Policy) -> dict[str, Any]:
    """The whole document, defaults written out, so that a stored revision means the same for ever."""
    document = asdict(policy)
    document["sections"] = [_dump_section(section) for section in policy.sections]
    document["thresholds"] = [_dump_threshold(threshold) for threshold in policy.thresholds]
    return document


def _dump_section(section: SectionPolicy) -> dict[str, Any]:
    target = list(section.target_tokens) if section.target_tokens is not None else None
    return {**asdict(section), "size": _dump_size(section.size), "target_tokens": target}


def _dump_size(size: Size) -> dict[str, Any]:
    key = {"share": "share_bp", "fixed": "fixed_tokens"}.get(size.kind, size.kind)
    return {key: True if size.kind in ("measured", "rest") else size.amount}


def _dump_threshold(threshold: Threshold) -> dict[str, Any]:
    unit = "tokens" if threshold.basis == "tokens" else "bp"
    document = asdict(threshold)
    at, clear = document.pop("at"), document.pop("clear")
    return {**document, f"at_{unit}": at, f"clear_{unit}": clear}
