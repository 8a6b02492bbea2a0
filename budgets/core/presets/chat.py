"""Redundancy control: a compact chat prompt by word limits, without saying anything twice."""

from __future__ import annotations

from budgets.core.policy_schema import DEFAULT_WORDS, default_thresholds
from budgets.core.presets.preset import Preset, section

COMPACT_CHAT = Preset(
    name="compact-chat",
    title="Compact chat",
    explanation="Word limits for memory, summary and history; no summary line that stands in memory.",
    document={
        "window": {"safety_bp": 8000, "use_latency_cap": False, "fallback_tokens": 32_000},
        "unit": "words",
        "sections": [
            section("system_prompt", {"measured": True}),
            section("goal", {"measured": True}),
            section("memory", {"words": DEFAULT_WORDS["memory"]}, fill="truncate"),
            section("conversation_summary", {"words": DEFAULT_WORDS["conversation_summary"]}),
            # Memory and summary are cut first and history fills what they leave (D2), in small windows too.
            section(
                "recent_messages",
                {"words": DEFAULT_WORDS["recent_messages"]},
                fill="newest_first",
                priority=40,
            ),
        ],
        "dedupe": {"summary_against_memory": True, "near_duplicates": False},
        "thresholds": default_thresholds(),
    },
)
