"""Ratio budgets: eight sections by fixed shares of 80 % of the window."""

from __future__ import annotations

from budgets.core.policy_schema import DEFAULT_SHARES_BP, default_thresholds
from budgets.core.presets.preset import Document, Preset, section

CODE_FOCUSED_BP = {
    "system_prompt": 1000,
    "goal": 500,
    "memory": 500,
    "working_state": 1000,
    "conversation_summary": 1000,
    "retrieved_context": 1000,
    "recent_messages": 4500,
    "scaffolding_reminder": 500,
}
PREFERENCE_FOCUSED_BP = {**DEFAULT_SHARES_BP, "memory": 1500, "conversation_summary": 1000}
SESSION_FOCUSED_BP = {**DEFAULT_SHARES_BP, "memory": 500, "conversation_summary": 2000}


def _document(shares_bp: dict[str, int]) -> Document:
    return {
        "window": {"safety_bp": 8000, "use_latency_cap": False, "fallback_tokens": 32_000},
        "sections": [section(name, {"share_bp": share}) for name, share in shares_bp.items()],
        "thresholds": default_thresholds(),
    }


RATIO_PRESETS = (
    Preset(
        name="ratio-default",
        title="Ratio budget",
        explanation="Eight sections by fixed shares of 80 % of the window; recent messages get the most.",
        document=_document(DEFAULT_SHARES_BP),
    ),
    Preset(
        name="ratio-code-focused",
        title="Ratio budget for code",
        explanation="More room for recent code and working state, less for instructions, memory and summary.",
        document=_document(CODE_FOCUSED_BP),
    ),
    Preset(
        name="ratio-preference-focused",
        title="Ratio budget for preferences",
        explanation="More memory and less summary, for long relations with many preferences and decisions.",
        document=_document(PREFERENCE_FOCUSED_BP),
    ),
    Preset(
        name="ratio-session-focused",
        title="Ratio budget for one session",
        explanation="More summary and less memory, for short and focused sessions that need continuity.",
        document=_document(SESSION_FOCUSED_BP),
    ),
)
