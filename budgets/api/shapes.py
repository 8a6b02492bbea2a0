"""What budgets, profiles and models look like in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from budgets.core.allocation import Allocation
from budgets.core.cost import Price
from budgets.core.presets import Preset
from budgets.core.window import WindowBudget
from budgets.models import ModelPrice, Profile, ProfileRevision
from budgets.services.calculations import Compared
from budgets.services.models import ModelCard, price_from, resolved
from kernel.http.replies import rfc3339

UNPRICED = "unpriced"
# Pico-dollars per token are micro-dollars per million tokens.
_MICRO = 10**6
_RATES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


def budget_shape(allocation: Allocation, window: dict[str, Any] | None) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "total": allocation.total,
        "sections": dict(allocation.sections),
        "unallocated": allocation.unallocated,
        "window": window,
        "scaffold_tokens": allocation.scaffold_tokens,
        "duplicated_tokens": allocation.duplicated_tokens,
        "shortfall": dict(allocation.shortfall),
    }
    return {**shape, "words": dict(allocation.words)} if allocation.words else shape


def window_shape(budget: WindowBudget, source: str) -> dict[str, Any]:
    return {
        "context_window": budget.context_window,
        "safe": budget.safe,
        "output_reserve": budget.output_reserve,
        "max_input": budget.max_input,
        "mode": budget.mode,
        "source": source,
    }


def compared_shape(compared: Compared) -> dict[str, Any]:
    row = compared.row
    if row.window is None or row.allocation is None:
        return {"model": row.model, "source": compared.source, "refusal": row.refusal}
    window = window_shape(row.window, compared.source)
    return {
        "model": row.model,
        "source": compared.source,
        "refusal": None,
        **budget_shape(row.allocation, window),
    }


def table_shape(total: int, sections: Mapping[str, int]) -> dict[str, Any]:
    return {"total": total, "sections": dict(sections), "unallocated": total - sum(sections.values())}


def preset_shape(preset: Preset) -> dict[str, Any]:
    return {
        "name": preset.name,
        "title": preset.title,
        "explanation": preset.explanation,
        "policy": preset.document,
    }


def profile_row(profile: Profile) -> dict[str, Any]:
    return {
        "id": profile.pk,
        "name": profile.name,
        "title": profile.title,
        "preset": profile.preset or None,
        "revision": profile.current.number if profile.current else None,
        "etag": profile.etag,
        "created_at": rfc3339(profile.created_at),
    }


def profile_shape(profile: Profile) -> dict[str, Any]:
    return {**profile_row(profile), "policy": profile.current.policy if profile.current else None}


def revision_shape(revision: ProfileRevision, current_id: str | None) -> dict[str, Any]:
    return {
        "id": revision.pk,
        "revision": revision.number,
        "current": revision.pk == current_id,
        "note": revision.note,
        "actor": revision.actor,
        "created_at": rfc3339(revision.created_at),
        "policy": revision.policy,
    }


def model_row(card: ModelCard) -> dict[str, Any]:
    model = resolved(card)
    return {
        "name": card.name,
        "canonical_name": card.canonical_name,
        "provider": card.facts.provider if card.facts else None,
        "context_window": model.context_window,
        "max_output": model.max_output,
        "latency_cap": model.latency_cap,
        "tokenizer": model.tokenizer,
        "source": model.source,
        "price": price_shape(card.price),
    }


def model_shape(card: ModelCard) -> dict[str, Any]:
    """The override beside what the catalogue says, so that neither hides the other."""
    return {
        **model_row(card),
        "catalogue": _catalogue_shape(card),
        "override": _override_shape(card),
        "etag": card.etag,
    }


def price_shape(price: Price | None) -> dict[str, Any] | str:
    if price is None:
        return UNPRICED
    rates = {f"{rate}_usd_per_mtok": usd_per_mtok(getattr(price, f"{rate}_pico")) for rate in _RATES}
    tiers = [
        {
            "above_tokens": tier.above_tokens,
            **{f"{rate}_usd_per_mtok": usd_per_mtok(getattr(tier, f"{rate}_pico")) for rate in _RATES},
        }
        for tier in price.tiers
    ]
    return {"price_id": price.price_id, **rates, "tiers": tiers}


def price_row_shape(row: ModelPrice) -> dict[str, Any]:
    rates = price_shape(price_from(row))
    assert isinstance(rates, dict)
    return {
        "id": rates.pop("price_id"),
        "name": row.name,
        **rates,
        "set_by": "project" if row.project_id else "operator",
        "valid_from": rfc3339(row.valid_from),
        "created_at": rfc3339(row.created_at),
    }


def usd_per_mtok(pico: int | None) -> str | None:
    if pico is None:
        return None
    whole, fraction = divmod(pico, _MICRO)
    decimals = f"{fraction:06d}".rstrip("0")
    return f"{whole}.{decimals}" if decimals else str(whole)


def _catalogue_shape(card: ModelCard) -> dict[str, Any] | None:
    if card.facts is None:
        return None
    fields = ("context_window", "max_output", "latency_cap", "tokenizer", "source")
    return {field: getattr(card.facts, field) for field in fields}


def _override_shape(card: ModelCard) -> dict[str, Any] | None:
    if not card.overrides:
        return None
    strongest = card.overrides[0]
    fields = ("context_window", "max_output", "latency_cap", "tokenizer", "alias_of")
    return {
        **{field: card.override(field) for field in fields},
        "set_by": "project" if strongest.project_id else "operator",
        "valid_from": rfc3339(strongest.valid_from),
    }
