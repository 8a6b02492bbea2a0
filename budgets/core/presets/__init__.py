"""The shipped profiles: five systems as eight policies of one schema, each explained in a sentence."""

from __future__ import annotations

from budgets.core.presets.chat import COMPACT_CHAT
from budgets.core.presets.checkpoint import CHECKPOINT_PROTOCOL
from budgets.core.presets.preset import Preset as Preset
from budgets.core.presets.ratio import RATIO_PRESETS
from budgets.core.presets.story import LONG_STORY
from budgets.core.presets.stream import STREAM_CODING_AGENT

DEFAULT_PRESET = "ratio-default"

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (*RATIO_PRESETS, STREAM_CODING_AGENT, COMPACT_CHAT, LONG_STORY, CHECKPOINT_PROTOCOL)
}
