"""Stream tracking: a coding agent that keeps its own context and is told when to compact it."""

from __future__ import annotations

from budgets.core.presets.preset import Preset, section

STREAM_CODING_AGENT = Preset(
    name="stream-coding-agent",
    title="Streaming coding agent",
    explanation="Follows the agent's usage reports, warns at 70 % and has it compact at 78 % of the window.",
    document={
        "window": {
            "safety_bp": 10_000,
            "output_reserve": {"ratio_bp": 1000},
            "use_latency_cap": False,
            "fallback_tokens": 200_000,
        },
        "sections": [
            section("system_prompt", {"measured": True}),
            section("goal", {"measured": True}),
            section("memory", {"share_bp": 500}),
            section("conversation_summary", {"share_bp": 1000}),
            section("recent_messages", {"rest": True}),
            section("working_state", {"share_bp": 500}),
            section("retrieved_context", {"share_bp": 500}),
            section("scaffolding_reminder", {"share_bp": 200}),
        ],
        "thresholds": [
            {
                "flag": "warning",
                "level": "warning",
                "basis": "window",
                "at_bp": 7000,
                "latched": True,
                "signal": "BUDGET_WARNING",
                "action": "warn",
            },
            {
                "flag": "compact",
                "level": "critical",
                "basis": "window",
                "at_bp": 7800,
                "latched": True,
                "signal": "COMPACT_DUE",
                "action": "compact",
            },
        ],
        "compaction": {"mode": "agent"},
    },
)
