"""Versioned rules for what a chat format adds around the text: frames, tools, images, attachments."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from budgets.tokens.images import ImageFormula

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
    """`tools_as` and `images_as` name the vendor's way; the rest are tokens, each with its status."""

    message: Rule
    name: Rule
    tool_call: Rule
    tool_result: Rule
    reply: Rule
    tool_prompt: Rule
    tool: Rule
    attachment_per_kilobyte: Rule
    tools_as: Literal["namespace", "json"]
    images_as: ImageFormula


_COOKBOOK = "OpenAI cookbook, How to count tokens with tiktoken; equal to recorded usage"
_FITTED = "fitted to recorded requests and their reported usage"
_SAFE_SIDE = "on the safe side of recorded usage"


def _documented(tokens: int, source: str) -> Rule:
    return Rule(tokens=tokens, status="documented", source=source)


def _approximate(tokens: int, source: str) -> Rule:
    return Rule(tokens=tokens, status="approximate", source=source)


OPENAI = ChatRules(
    message=_documented(4, _COOKBOOK),
    name=_documented(1, _COOKBOOK),
    tool_call=_approximate(8, _FITTED),
    tool_result=_approximate(2, _FITTED),
    reply=_documented(3, _COOKBOOK),
    tool_prompt=_approximate(9, _FITTED),
    tool=_approximate(0, "inside the namespace"),
    attachment_per_kilobyte=_approximate(40, _SAFE_SIDE),
    tools_as="namespace",
    images_as="openai",
)

ANTHROPIC = ChatRules(
    message=_approximate(5, _FITTED),
    name=_approximate(1, _SAFE_SIDE),
    tool_call=_approximate(30, _SAFE_SIDE),
    tool_result=_approximate(25, _SAFE_SIDE),
    reply=_approximate(3, _SAFE_SIDE),
    # 346 is documented for Claude 4; recorded usage of 4.6 and later shows up to 600.
    tool_prompt=_approximate(600, _SAFE_SIDE),
    tool=_approximate(8, _FITTED),
    attachment_per_kilobyte=_approximate(100, _SAFE_SIDE),
    tools_as="json",
    images_as="anthropic",
)

GENERIC = ChatRules(
    message=_approximate(6, _SAFE_SIDE),
    name=_approximate(1, _SAFE_SIDE),
    tool_call=_approximate(16, _SAFE_SIDE),
    tool_result=_approximate(8, _SAFE_SIDE),
    # Llama's and Qwen's templates open every request with a preamble of about 25 tokens.
    reply=_approximate(30, _SAFE_SIDE),
    tool_prompt=_approximate(250, _SAFE_SIDE),
    tool=_approximate(8, _SAFE_SIDE),
    attachment_per_kilobyte=_approximate(100, _SAFE_SIDE),
    tools_as="json",
    images_as="largest",
)

_NOTHING = _documented(0, "words and line estimates measure text alone")
NO_FRAME = ChatRules(
    message=_NOTHING,
    name=_NOTHING,
    tool_call=_NOTHING,
    tool_result=_NOTHING,
    reply=_NOTHING,
    tool_prompt=_NOTHING,
    tool=_NOTHING,
    attachment_per_kilobyte=_NOTHING,
    tools_as="json",
    images_as="none",
)

RULES: Mapping[str, ChatRules] = MappingProxyType(
    {"o200k_base": OPENAI, "cl100k_base": OPENAI, "claude": ANTHROPIC, "generic": GENERIC}
)


def rules_for(counter_name: str) -> ChatRules:
    return RULES.get(counter_name, NO_FRAME)
