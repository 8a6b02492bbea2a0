"""Versioned rules for what a chat format adds around the text: frames, tools, images, attachments."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

# Raise it with every changed number, so that stored counts can name the rules they were made with.
RULES_VERSION = 1

# documented: a vendor publishes the number; approximate: ours, fitted to reported usage or on the safe side.
Status = Literal["documented", "approximate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    tokens: int
    status: Status
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatRules:
    message: Rule
    name: Rule
    tool_call: Rule
    tool_result: Rule
    reply: Rule
    tool_prompt: Rule
    tool: Rule
    image: Rule
    image_low_detail: Rule
    attachment_per_kilobyte: Rule


_COOKBOOK = "OpenAI cookbook, How to count tokens with tiktoken"
_OPENAI_VISION = "OpenAI vision guide: 85 tokens and 170 for each 512-pixel tile"
_ANTHROPIC_TOOLS = "Anthropic tool use guide: the tool use system prompt"
_ANTHROPIC_VISION = "Anthropic vision guide: width x height / 750, at most about 1,600"
_FITTED = "fitted to recorded requests and their reported usage"
_SAFE_SIDE = "set on the safe side"

_ATTACHMENT = Rule(tokens=40, status="approximate", source=_SAFE_SIDE)
_NOTHING = Rule(tokens=0, status="documented", source="the unit has no chat frame")

OPENAI = ChatRules(
    message=Rule(tokens=4, status="documented", source=_COOKBOOK),
    name=Rule(tokens=1, status="documented", source=_COOKBOOK),
    tool_call=Rule(tokens=8, status="approximate", source=_FITTED),
    tool_result=Rule(tokens=2, status="approximate", source=_FITTED),
    reply=Rule(tokens=3, status="documented", source=_COOKBOOK),
    tool_prompt=Rule(tokens=12, status="documented", source=_COOKBOOK),
    tool=Rule(tokens=7, status="documented", source=_COOKBOOK),
    image=Rule(tokens=1_445, status="documented", source=_OPENAI_VISION),
    image_low_detail=Rule(tokens=85, status="documented", source=_OPENAI_VISION),
    attachment_per_kilobyte=_ATTACHMENT,
)

ANTHROPIC = ChatRules(
    message=Rule(tokens=5, status="approximate", source=_FITTED),
    name=Rule(tokens=1, status="approximate", source=_SAFE_SIDE),
    tool_call=Rule(tokens=40, status="approximate", source=_FITTED),
    tool_result=Rule(tokens=40, status="approximate", source=_FITTED),
    reply=Rule(tokens=3, status="approximate", source=_SAFE_SIDE),
    tool_prompt=Rule(tokens=600, status="approximate", source=_ANTHROPIC_TOOLS),
    tool=Rule(tokens=8, status="approximate", source=_FITTED),
    image=Rule(tokens=1_600, status="documented", source=_ANTHROPIC_VISION),
    image_low_detail=Rule(tokens=1_600, status="documented", source=_ANTHROPIC_VISION),
    attachment_per_kilobyte=_ATTACHMENT,
)

GENERIC = ChatRules(
    message=Rule(tokens=6, status="approximate", source=_SAFE_SIDE),
    name=Rule(tokens=1, status="approximate", source=_SAFE_SIDE),
    tool_call=Rule(tokens=16, status="approximate", source=_SAFE_SIDE),
    tool_result=Rule(tokens=8, status="approximate", source=_SAFE_SIDE),
    reply=Rule(tokens=3, status="approximate", source=_SAFE_SIDE),
    tool_prompt=Rule(tokens=100, status="approximate", source=_SAFE_SIDE),
    tool=Rule(tokens=8, status="approximate", source=_SAFE_SIDE),
    image=Rule(tokens=1_600, status="approximate", source=_SAFE_SIDE),
    image_low_detail=Rule(tokens=258, status="approximate", source="Gemini: 258 tokens for a small image"),
    attachment_per_kilobyte=_ATTACHMENT,
)

# Words and line estimates measure text alone.
NO_FRAME = ChatRules(
    message=_NOTHING,
    name=_NOTHING,
    tool_call=_NOTHING,
    tool_result=_NOTHING,
    reply=_NOTHING,
    tool_prompt=_NOTHING,
    tool=_NOTHING,
    image=_NOTHING,
    image_low_detail=_NOTHING,
    attachment_per_kilobyte=_NOTHING,
)

RULES: Mapping[str, ChatRules] = MappingProxyType(
    {"o200k_base": OPENAI, "cl100k_base": OPENAI, "claude": ANTHROPIC, "generic": GENERIC}
)


def rules_for(counter_name: str) -> ChatRules:
    return RULES.get(counter_name, NO_FRAME)
