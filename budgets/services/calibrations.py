"""Learned corrections of token counts: written by a job, read when a session takes its model."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from budgets.models import ModelCalibration
from budgets.tokens import calibrate
from kernel.clock import read_now
from kernel.ids import new_id

log = structlog.get_logger(__name__)

# Vocabularies that are the model's own need no correction: what differs there is what we were not sent.
CALIBRATED_TOKENIZERS = frozenset({"claude", "generic"})
UNCORRECTED = (10_000, 0)
# A learned ratio outside this range says that the reports are about something else than what we count.
PLAUSIBLE_BP = range(5_000, 20_001)
DRIFT_ALARM_BP = 1_000


def learn(*, project_id: str, model: str, pairs: Sequence[tuple[int, int]]) -> ModelCalibration | None:
    """A new calibration from (counted, reported) pairs, oldest first; None while they teach nothing."""
    found = calibrate(pairs)
    if found is None or found.ratio_bp not in PLAUSIBLE_BP:
        return None
    if abs(found.drift_bp) > DRIFT_ALARM_BP:
        log.warning("token counts drift", project=project_id, model=model, drift_bp=found.drift_bp)
    return ModelCalibration.objects.create(
        id=new_id("cal"),
        project_id=project_id,
        name=model,
        ratio_bp=found.ratio_bp,
        margin_bp=found.margin_bp,
        drift_bp=found.drift_bp,
        pairs=found.pairs,
        created_at=read_now(),
    )


def correction(*, project_id: str, model: str, tokenizer: str) -> tuple[int, int]:
    """Ratio and margin in basis points for a counter of this model."""
    if tokenizer not in CALIBRATED_TOKENIZERS:
        return UNCORRECTED
    newest = ModelCalibration.objects.filter(project_id=project_id, name=model).order_by("-id").first()
    return (newest.ratio_bp, newest.margin_bp) if newest else UNCORRECTED
