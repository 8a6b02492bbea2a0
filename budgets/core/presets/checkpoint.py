"""Checkpoint protocol: work in small contexts, write a checkpoint, clear, resume."""

from __future__ import annotations

from budgets.core.presets.preset import Preset, section

CHECKPOINT_PROTOCOL = Preset(
    name="checkpoint-protocol",
    title="Checkpoint protocol",
    explanation=(
        "Estimates by lines from a base load of 2,000; prepares above 35,000 tokens, writes a checkpoint and "
        "clears above 40,000, and also after a story, a phase or five subagents."
    ),
    document={
        "window": {
            "safety_bp": 10_000,
            "output_reserve": {"ratio_bp": 1000, "minimum_tokens": 1024},
            "use_latency_cap": False,
            "fallback_tokens": 200_000,
        },
        "unit": "lines",
        "sections": [
            section("system_prompt", {"measured": True}),
            section("goal", {"measured": True}),
            section("memory", {"share_bp": 500}),
            section(
                "protocols",
                {"measured": True},
                fill="verbatim",
                volatility=40,
                priority=75,
                purpose="Protocols loaded for the action at hand, a reference for the others.",
            ),
            section("conversation_summary", {"share_bp": 1000}),
            section("recent_messages", {"rest": True}),
            section("working_state", {"measured": True}, max_tokens=4000),
        ],
        "thresholds": [
            {
                "flag": "warning",
                "level": "warning",
                "basis": "tokens",
                "at_tokens": 35_000,
                "strict": True,
                "latched": True,
                "signal": "BUDGET_WARNING",
                "action": "warn",
            },
            {
                "flag": "clear",
                "level": "critical",
                "basis": "tokens",
                "at_tokens": 40_000,
                "strict": True,
                "latched": True,
                "signal": "BUDGET_CRITICAL",
                "action": "checkpoint",
            },
            {
                "flag": "exhausted",
                "level": "critical",
                "basis": "window",
                "at_bp": 10_000,
                "strict": True,
                "latched": True,
                "signal": "CONTEXT_EXHAUSTED",
                "action": "checkpoint",
            },
        ],
        "triggers": {
            "story_complete": True,
            "phase_transition": True,
            "subagents_complete": 5,
            "commands": True,
        },
        "base_load_tokens": 2000,
    },
)
