"""How many tokens a text, messages or tool definitions take in a model, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from budgets.services.models import ResolvedModel, counter
from budgets.tokens import Counter, Source, message_tokens, reply_tokens, tools_tokens
from budgets.tokens.rules import RULES_VERSION

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """parts says what the tokens are made of; rules_version names the rules for what surrounds the text."""

    tokens: int
    low: int
    high: int
    source: Source
    tokenizer: str
    parts: Mapping[str, int]
    rules_version: int = RULES_VERSION


def count_text(model: ResolvedModel, text: str) -> Count:
    chosen = counter(model)
    return _count(chosen, {"text": chosen.count(text)}, certain=True)


def count_request(model: ResolvedModel, messages: Sequence[Message], tools: Sequence[Message]) -> Count:
    """Messages and tools as a provider would bill them in one request."""
    chosen = counter(model)
    parts = {
        "messages": sum(message_tokens(chosen, message) for message in messages),
        "reply": reply_tokens(chosen) if messages else 0,
        "tools": tools_tokens(chosen, tools),
    }
    return _count(chosen, parts, certain=not tools and all(map(_is_plain, messages)))


def _count(chosen: Counter, parts: Mapping[str, int], *, certain: bool) -> Count:
    tokens = sum(parts.values())
    return Count(
        tokens=tokens,
        low=chosen.low(tokens),
        high=chosen.high(tokens),
        source=chosen.source if certain or chosen.source != "counted" else "estimated",
        tokenizer=chosen.name,
        parts=parts,
    )


def _is_plain(message: Message) -> bool:
    """Text and a role: what surrounds more than that is a vendor's secret, and only estimated."""
    return isinstance(message.get("content"), str) and message.keys() <= {"role", "content", "name"}
