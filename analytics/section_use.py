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
class HeatCell:
    """`heat` 0 to 4: how much of its plan a section used; 4 is beyond it."""

    section: str
    used: int
    planned: int

    @property
    def heat(self) -> int:
        if not self.used:
            return 0
        return 4 if self.used > self.planned else 1 + min(2, self.used * 3 // max(1, self.planned))


def heat_map(wanted: UsageFilter) -> tuple[list[str], dict[str, list[HeatCell | None]]]:
    rows = (
        wanted.buckets(sections=True)
        .values_list("model", "section")
        .annotate(calls=Sum("calls"), planned=Sum("planned_tokens"), used=Sum("used_tokens"))
        .order_by("model", "section")
    )
    found = {
        (model, section): HeatCell(section=section, used=used // calls, planned=planned // calls)
        for model, section, calls, planned, used in rows
        if calls
    }
    sections = sorted({section for _, section in found})
    models = sorted({model for model, _ in found})
    return sections, {model: [found.get((model, section)) for section in sections] for model in models}


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
