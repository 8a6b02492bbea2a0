"""Learns from what providers report how a model's tokens are counted; off the request path."""

from __future__ import annotations

from typing import Any

from budgets.services.calibrations import CALIBRATED_TOKENIZERS, learn
from kernel.jobs import queue as jobs
from kernel.jobs.registry import ClaimedJob
from sessions.models import AgentSession, Turn
from sessions.services.frames import Frame

CALIBRATE_JOB = "calibrate_counter"
EVERY_TURNS = 20
NEWEST_PAIRS = 200
# Below this a prompt is mostly frame and tool definitions, which say nothing about the words.
MINIMUM_TOKENS = 500


def request_calibration(session: AgentSession, frame: Frame) -> None:
    """Now and then, for models whose own vocabulary is not at hand."""
    if session.turns % EVERY_TURNS or frame.model.tokenizer not in CALIBRATED_TOKENIZERS:
        return
    model = frame.model.canonical_name
    jobs.enqueue(
        kind=CALIBRATE_JOB,
        dedupe_key=f"{CALIBRATE_JOB}:{session.project_id}:{model}"[:200],
        project_id=session.project_id,
        payload={"model": model},
    )


def run_calibration(job: ClaimedJob) -> dict[str, Any]:
    rows = (
        Turn.objects.filter(
            session__project_id=job.project_id,
            model=job.payload["model"],
            assembled_tokens__gte=MINIMUM_TOKENS,
        )
        .order_by("-id")
        .values_list("assembled_tokens", "usage")[:NEWEST_PAIRS]
    )
    pairs = [(counted or 0, _prompt(usage)) for counted, usage in reversed(rows)]
    learned = learn(project_id=job.project_id, model=job.payload["model"], pairs=pairs)
    return {"pairs": len(pairs), "ratio_bp": learned.ratio_bp if learned else None}


def _prompt(usage: dict[str, int]) -> int:
    return sum(count for name, count in usage.items() if name not in ("output_tokens", "reasoning_tokens"))
