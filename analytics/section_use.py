"""Planned against actual by section and model, and the shares that the use of a profile suggests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Sum

from analytics.filters import UsageFilter

# Room above the average, so that an ordinary day does not overflow.
HEADROOM_BP = 12_000
WHOLE_BP = 10_000
STEP_BP = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionUse:
    """What the contexts of one model held in one section, summed over a range."""

    model: str
    section: str
    contexts: int
    planned: int
    used: int
    over: int

    @property
    def heat(self) -> int:
        """0 to 4: how much of its plan a section used; 4 is beyond it."""
        if not self.used:
            return 0
        return 4 if self.used > self.planned else 1 + min(2, self.used * 3 // max(1, self.planned))


def section_uses(wanted: UsageFilter) -> list[SectionUse]:
    """One scan of the rollups; the table and the heat map are both made from it."""
    rows = (
        wanted.buckets(sections=True)
        .values_list("model", "section")
        .annotate(
            contexts=Sum("calls"),
            planned=Sum("planned_tokens"),
            used=Sum("used_tokens"),
            over=Sum("over_budget_calls"),
        )
        .order_by("model", "section")
    )
    return [
        SectionUse(model=model, section=section, contexts=contexts, planned=planned, used=used, over=over)
        for model, section, contexts, planned, used, over in rows
        if contexts
    ]


def section_rows(uses: Sequence[SectionUse]) -> list[dict[str, int | str]]:
    """All models together, per section."""
    names = sorted({use.section for use in uses})
    rows: list[dict[str, int | str]] = []
    for name in names:
        found = [use for use in uses if use.section == name]
        contexts = sum(use.contexts for use in found)
        rows.append(
            {
                "section": name,
                "contexts": contexts,
                "planned_average": sum(use.planned for use in found) // contexts,
                "used_average": sum(use.used for use in found) // contexts,
                "over_plan_contexts": sum(use.over for use in found),
            }
        )
    return rows


def heat_map(uses: Sequence[SectionUse]) -> dict[str, list[SectionUse | None]]:
    found = {(use.model, use.section): use for use in uses}
    names = sorted({use.section for use in uses})
    models = sorted({use.model for use in uses})
    return {model: [found.get((model, name)) for name in names] for model in models}


def suggested_shares(planned: Mapping[str, int], used: Mapping[str, int]) -> dict[str, int]:
    """Basis points by need with headroom; what is left goes to the hungriest section. Sums to 10,000."""
    total = sum(planned.values())
    if not total:
        return {}
    needs = {name: max(1, used.get(name, 0)) * HEADROOM_BP // WHOLE_BP for name in planned}
    shares = {name: _rounded(need * WHOLE_BP // total) for name, need in needs.items()}
    return _fitted(shares, hungriest=max(needs, key=lambda name: needs[name]))


def _rounded(share_bp: int) -> int:
    return max(STEP_BP, -(-share_bp // STEP_BP) * STEP_BP)


def _fitted(shares: dict[str, int], *, hungriest: str) -> dict[str, int]:
    spare = WHOLE_BP - sum(shares.values())
    if spare >= 0:
        return {**shares, hungriest: shares[hungriest] + spare}
    scale = sum(shares.values())
    scaled = {name: share * WHOLE_BP // scale for name, share in shares.items()}
    return {**scaled, hungriest: scaled[hungriest] + WHOLE_BP - sum(scaled.values())}


def most_often_over(rows: Sequence[Mapping[str, object]]) -> str | None:
    """The section that passed its plan in most contexts; None when none did."""
    over = [(int(str(row["over_plan_contexts"])), str(row["section"])) for row in rows]
    count, name = max(over, default=(0, ""))
    return name if count else None
