"""Reads any vendor's usage report into the one canonical form; the shape decides, not the vendor's name.

OpenAI-like prompt counts include what came from the cache, Anthropic's and Bedrock's exclude it. Google
counts thoughts beside the answer, all others inside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from budgets.core.usage import TokenUsage
from providers.errors import UsageInvalid

MAX_TOKENS = 10**12

# The counters that an agent's result event may carry at its top level (Claude Code's stream-json).
RESULT_COUNTERS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


class Counters:
    """A usage object, read strictly: absent and null are 0, everything but a whole number is refused."""

    def __init__(
        self, fields: Mapping[str, Any], pointer: str, elsewhere: Mapping[str, str] | None = None
    ) -> None:
        self.fields = fields
        self.pointer = pointer
        self.elsewhere = elsewhere or {}  # pointers of the counters that stand outside this object

    def __contains__(self, name: str) -> bool:
        return self.fields.get(name) is not None

    def count(self, *names: str) -> int:
        """The first of `names` that is present; vendors rename counters and send both."""
        for name in names:
            if name in self:
                return whole_tokens(self.fields[name], self.elsewhere.get(name, f"{self.pointer}/{name}"))
        return 0

    def part(self, name: str) -> Counters:
        inner = self.fields.get(name)
        pointer = f"{self.pointer}/{name}"
        if inner is None:
            return Counters({}, pointer)
        if not isinstance(inner, Mapping):
            raise UsageInvalid(pointer, "Must be an object.")
        return Counters(inner, pointer)


def whole_tokens(value: Any, pointer: str) -> int:
    """`value` as a token count; True, "12", 1.0, negatives and 2⁶³ are refused."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageInvalid(pointer, "Must be a whole number of tokens.")
    if not 0 <= value <= MAX_TOKENS:
        raise UsageInvalid(pointer, f"Must be between 0 and {MAX_TOKENS}.")
    return value


def usage_from(
    payload: Mapping[str, Any], *, provider: str | None = None, pointer: str = ""
) -> TokenUsage | None:
    """The canonical usage in `payload` (a usage object, or what carries one), or None when it reports none.

    `provider` is only asked where two shapes share their counters (bare input and output counts).
    """
    counters = _locate(payload, pointer)
    if "promptTokenCount" in counters or "candidatesTokenCount" in counters or "totalTokenCount" in counters:
        return _google(counters)
    if "inputTokens" in counters or "outputTokens" in counters:
        return _bedrock(counters)
    if "prompt_tokens" in counters or "completion_tokens" in counters:
        return _openai_chat(counters)
    if _is_responses(counters, provider):
        return _openai_responses(counters)
    if any(name in counters for name in (*RESULT_COUNTERS, "cache_creation")):
        return _anthropic(counters)
    return None


def _locate(payload: Mapping[str, Any], pointer: str) -> Counters:
    """The object that holds the counters; each counter of a result's `usage` wins over its twin outside."""
    for name in ("usageMetadata", "usage_metadata"):
        if payload.get(name) is not None:
            return Counters(payload, pointer).part(name)
    if payload.get("usage") is None:
        return Counters(payload, pointer)
    inner = Counters(payload, pointer).part("usage")
    missing = [name for name in RESULT_COUNTERS if payload.get(name) is not None and name not in inner]
    if "cache_creation" in inner and "cache_creation_input_tokens" in missing:
        missing.remove("cache_creation_input_tokens")  # the same counter, reported by lifetime
    fields = {**inner.fields, **{name: payload[name] for name in missing}}
    return Counters(fields, inner.pointer, {name: f"{pointer}/{name}" for name in missing})


def _is_responses(counters: Counters, provider: str | None) -> bool:
    if "input_tokens_details" in counters or "cached_input_tokens" in counters:
        return True
    return "input_tokens" in counters and (provider or "") in {"openai", "responses", "codex"}


def _anthropic(counters: Counters) -> TokenUsage:
    split = counters.part("cache_creation")
    written = counters.count("cache_creation_input_tokens")
    one_hour = split.count("ephemeral_1h_input_tokens")
    five_minutes = max(split.count("ephemeral_5m_input_tokens"), written - one_hour)
    output = counters.count("output_tokens")
    thinking = counters.part("output_tokens_details").count("thinking_tokens", "reasoning_tokens")
    return TokenUsage(
        input_tokens=counters.count("input_tokens"),
        cache_read_tokens=counters.count("cache_read_input_tokens"),
        cache_write_5m_tokens=five_minutes,
        cache_write_1h_tokens=one_hour,
        output_tokens=output,
        reasoning_tokens=min(thinking, output),
    )


def _bedrock(counters: Counters) -> TokenUsage:
    written = counters.count("cacheWriteInputTokens", "cacheWriteInputTokenCount")
    one_hour = min(written, _bedrock_one_hour(counters))
    return TokenUsage(
        input_tokens=counters.count("inputTokens"),
        cache_read_tokens=counters.count("cacheReadInputTokens", "cacheReadInputTokenCount"),
        cache_write_5m_tokens=written - one_hour,
        cache_write_1h_tokens=one_hour,
        output_tokens=counters.count("outputTokens"),
        reasoning_tokens=0,
    )


def _bedrock_one_hour(counters: Counters) -> int:
    details = counters.fields.get("cacheDetails") or []
    if not isinstance(details, list):
        raise UsageInvalid(f"{counters.pointer}/cacheDetails", "Must be a list.")
    total = 0
    for position, entry in enumerate(details):
        if isinstance(entry, Mapping) and entry.get("ttl") == "1h":
            total += Counters(entry, f"{counters.pointer}/cacheDetails/{position}").count("inputTokens")
    return total


def _openai_chat(counters: Counters) -> TokenUsage:
    """OpenAI, OpenRouter, Groq, Mistral and DeepSeek.

    Gemini and Grok behind this shape leave thoughts out of the completion count and in the total, and bill
    them as output: the total wins when it is larger.
    """
    prompt = counters.count("prompt_tokens")
    completion = counters.count("completion_tokens")
    output = max(completion, counters.count("total_tokens") - prompt)
    reasoning = counters.part("completion_tokens_details").count("reasoning_tokens")
    details = counters.part("prompt_tokens_details")
    cached = details.count("cached_tokens") or counters.count("prompt_cache_hit_tokens")
    return _inclusive(
        prompt=prompt,
        cached=cached,
        written=details.count("cache_write_tokens"),
        output=output,
        reasoning=max(reasoning, output - completion),
    )


def _openai_responses(counters: Counters) -> TokenUsage:
    """OpenAI Responses, and Codex with its flat names."""
    details = counters.part("input_tokens_details")
    reasoning = counters.part("output_tokens_details").count("reasoning_tokens")
    return _inclusive(
        prompt=counters.count("input_tokens"),
        cached=details.count("cached_tokens") or counters.count("cached_input_tokens"),
        written=details.count("cache_write_tokens"),
        output=counters.count("output_tokens"),
        reasoning=reasoning or counters.count("reasoning_output_tokens"),
    )


def _google(counters: Counters) -> TokenUsage:
    """Prompt and tool-use prompt are two counts, thoughts stand beside the candidates."""
    thoughts = counters.count("thoughtsTokenCount")
    return _inclusive(
        prompt=counters.count("promptTokenCount") + counters.count("toolUsePromptTokenCount"),
        cached=counters.count("cachedContentTokenCount"),
        written=0,
        output=counters.count("candidatesTokenCount", "responseTokenCount") + thoughts,
        reasoning=thoughts,
    )


def _inclusive(*, prompt: int, cached: int, written: int, output: int, reasoning: int) -> TokenUsage:
    """For vendors whose prompt count includes what was read from and written to the cache."""
    return TokenUsage(
        input_tokens=max(0, prompt - cached - written),
        cache_read_tokens=cached,
        cache_write_5m_tokens=written,
        cache_write_1h_tokens=0,
        output_tokens=output,
        reasoning_tokens=min(reasoning, output),
    )
