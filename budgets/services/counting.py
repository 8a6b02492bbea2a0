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


@dataclass(frozen=True, slots=True, kw_only=True)
class _FramesOnly:
    """Counts no text, so that what is left is what the rules add around it."""

    name: str
    source: Source = "estimated"

    def count(self, text: str) -> int:
        return 0

    def low(self, n: int) -> int:
        return n

    def high(self, n: int) -> int:
        return n

    def prefix(self, text: str, limit: int) -> str:
        return text


def count_text(model: ResolvedModel, text: str) -> Count:
    chosen = counter(model)
    return _count(chosen, {"text": chosen.count(text)})


def count_request(model: ResolvedModel, messages: Sequence[Message], tools: Sequence[Message]) -> Count:
    """Messages and tools as a provider would bill them in one request."""
    chosen = counter(model)
    parts = _request_parts(chosen, messages, tools)
    if not tools and all(map(_is_plain, messages)):
        return _count(chosen, parts)
    frames = _request_parts(_FramesOnly(name=chosen.name), messages, tools)
    return _count(chosen, parts, doubtful=sum(frames.values()))


def _request_parts(chosen: Counter, messages: Sequence[Message], tools: Sequence[Message]) -> dict[str, int]:
    return {
        "messages": sum(message_tokens(chosen, message) for message in messages),
        "reply": reply_tokens(chosen) if messages else 0,
        "tools": tools_tokens(chosen, tools),
    }


def _count(chosen: Counter, parts: Mapping[str, int], doubtful: int = 0) -> Count:
    """doubtful tokens come from rules that no vendor has published: they may be none, or twice as many."""
    tokens = sum(parts.values())
    return Count(
        tokens=tokens,
        low=max(0, chosen.low(tokens) - doubtful),
        high=chosen.high(tokens) + doubtful,
        source="estimated" if doubtful and chosen.source == "counted" else chosen.source,
        tokenizer=chosen.name,
        parts=parts,
    )


def _is_plain(message: Message) -> bool:
    """Text and a role: how vendors frame more than that is only estimated."""
    return isinstance(message.get("content"), str) and message.keys() <= {"role", "content", "name"}
