"""Window hierarchy: a long story keeps its beginning, the key events of its middle, and its end."""

from __future__ import annotations

from budgets.core.policy_schema import STORY_OPTIONS, default_thresholds
from budgets.core.presets.preset import Preset, section

ENTITY_TRACKING_TOKENS = 10_500
COMBAT_OUTPUT_TOKENS = 24_000

LONG_STORY = Preset(
    name="long-story",
    title="Long story",
    explanation=(
        "90 % of the window less the room for the answer; what the scaffold leaves is the story's: start, "
        "key events of the middle, end. A profile that also renders a timeline log sets the duplication "
        "factor to 2.05."
    ),
    document={
        "window": {
            "safety_bp": 9000,
            "output_reserve": {
                "ratio_bp": 2000,
                "minimum_tokens": 1024,
                "modes": {"combat": COMBAT_OUTPUT_TOKENS},
            },
            "use_latency_cap": True,
            "fallback_tokens": 32_000,
        },
        "sections": [
            section("system_prompt", {"measured": True}, target_tokens=[5000, 8000]),
            section("goal", {"measured": True}),
            section(
                "memory",
                {"measured": True},
                max_tokens=3000,
                target_tokens=[2000, 3000],
                purpose="Core memories and companions.",
            ),
            section("conversation_summary", {"measured": True}, max_tokens=4000, borrows=False),
            section(
                "recent_messages",
                {"rest": True},
                fill="head_middle_tail",
                options=dict(STORY_OPTIONS),
                purpose="The story: first turns, key events of what was dropped, latest turns.",
            ),
            section(
                "checkpoint_block",
                {"measured": True},
                fill="verbatim",
                target_tokens=[1000, 2000],
                volatility=60,
                priority=75,
                purpose="Where the session stands, for continuity.",
            ),
            section(
                "game_state",
                {"measured": True},
                fill="verbatim",
                target_tokens=[2000, 4000],
                volatility=70,
                priority=85,
                purpose="The current state of the world as JSON.",
            ),
            section(
                "entity_tracking",
                {"fixed_tokens": ENTITY_TRACKING_TOKENS},
                fill="reserve",
                volatility=95,
                priority=95,
                purpose="Room for the entity texts that are added after truncation.",
            ),
        ],
        "thresholds": default_thresholds(),
    },
)
