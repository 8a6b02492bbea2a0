"""Usage of nine vendors in one form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from budgets.core.usage import TokenUsage
from providers.errors import UsageInvalid
from providers.usage import usage_from

SHAPES: list[tuple[str, dict[str, Any], TokenUsage]] = [
    (
        "OpenAI chat: the prompt includes what was cached",
        {
            "prompt_tokens": 1000,
            "completion_tokens": 200,
            "total_tokens": 1200,
            "prompt_tokens_details": {"cached_tokens": 600, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 120},
        },
        TokenUsage(input_tokens=400, cache_read_tokens=600, output_tokens=200, reasoning_tokens=120),
    ),
    (
        "OpenAI Responses: the same under other names",
        {
            "input_tokens": 18,
            "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 23,
        },
        TokenUsage(input_tokens=10, cache_read_tokens=8, output_tokens=5, reasoning_tokens=2),
    ),
    (
        "Anthropic: the prompt excludes the cache, writes are split by lifetime",
        {
            "input_tokens": 3,
            "cache_read_input_tokens": 1111,
            "cache_creation_input_tokens": 500,
            "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 300},
            "output_tokens": 414,
            "output_tokens_details": {"thinking_tokens": 47},
        },
        TokenUsage(
            input_tokens=3,
            cache_read_tokens=1111,
            cache_write_5m_tokens=200,
            cache_write_1h_tokens=300,
            output_tokens=414,
            reasoning_tokens=47,
        ),
    ),
    (
        "Anthropic without the split: a write lives five minutes",
        {"input_tokens": 4, "cache_creation_input_tokens": 17755, "output_tokens": 5},
        TokenUsage(input_tokens=4, cache_write_5m_tokens=17755, output_tokens=5),
    ),
    (
        "Google: thoughts beside the candidates, tool-use prompt beside the prompt",
        {
            "promptTokenCount": 95,
            "cachedContentTokenCount": 40,
            "toolUsePromptTokenCount": 439,
            "candidatesTokenCount": 66,
            "thoughtsTokenCount": 132,
            "totalTokenCount": 732,
        },
        TokenUsage(input_tokens=494, cache_read_tokens=40, output_tokens=198, reasoning_tokens=132),
    ),
    (
        "Bedrock: every cache counter twice, counted once",
        {
            "inputTokens": 3,
            "outputTokens": 121,
            "totalTokens": 2072,
            "cacheReadInputTokens": 1712,
            "cacheReadInputTokenCount": 1712,
            "cacheWriteInputTokens": 236,
            "cacheWriteInputTokenCount": 236,
            "cacheDetails": [{"inputTokens": 200, "ttl": "5m"}, {"inputTokens": 36, "ttl": "1h"}],
        },
        TokenUsage(
            input_tokens=3,
            cache_read_tokens=1712,
            cache_write_5m_tokens=200,
            cache_write_1h_tokens=36,
            output_tokens=121,
        ),
    ),
    (
        "OpenRouter: cache writes inside the prompt, more reasoning than output is cut to the output",
        {
            "prompt_tokens": 550,
            "completion_tokens": 10,
            "total_tokens": 560,
            "cost": 0.00183,
            "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 50},
            "completion_tokens_details": {"reasoning_tokens": 11},
        },
        TokenUsage(
            input_tokens=400,
            cache_read_tokens=100,
            cache_write_5m_tokens=50,
            output_tokens=10,
            reasoning_tokens=10,
        ),
    ),
    (
        "Groq: times are no tokens",
        {
            "prompt_tokens": 48,
            "completion_tokens": 8,
            "total_tokens": 56,
            "queue_time": 0.1,
            "total_time": 0.03,
        },
        TokenUsage(input_tokens=48, output_tokens=8),
    ),
    (
        "Mistral: no details at all",
        {"prompt_tokens": 1540, "completion_tokens": 54, "total_tokens": 1594},
        TokenUsage(input_tokens=1540, output_tokens=54),
    ),
    (
        "DeepSeek: hits and misses instead of details",
        {
            "prompt_tokens": 563,
            "prompt_cache_hit_tokens": 512,
            "prompt_cache_miss_tokens": 51,
            "completion_tokens": 116,
            "total_tokens": 679,
            "completion_tokens_details": {"reasoning_tokens": 60},
        },
        TokenUsage(input_tokens=51, cache_read_tokens=512, output_tokens=116, reasoning_tokens=60),
    ),
    (
        "Gemini behind OpenAI's shape: hidden thoughts show in the total alone",
        {"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109},
        TokenUsage(input_tokens=35, output_tokens=74, reasoning_tokens=62),
    ),
    (
        "Codex: flat names, the input includes the cache",
        {
            "input_tokens": 11862,
            "cached_input_tokens": 10240,
            "output_tokens": 109,
            "reasoning_output_tokens": 64,
            "total_tokens": 11971,
        },
        TokenUsage(input_tokens=1622, cache_read_tokens=10240, output_tokens=109, reasoning_tokens=64),
    ),
]


@pytest.mark.parametrize(("shape", "usage", "expected"), SHAPES, ids=[shape for shape, _, _ in SHAPES])
def test_it_reads_every_shape(shape: str, usage: dict[str, Any], expected: TokenUsage) -> None:
    assert usage_from(usage) == expected
    assert usage_from({"usage": usage}) == expected


def test_it_finds_googles_usage_under_its_own_name() -> None:
    response = {"candidates": [], "usageMetadata": {"promptTokenCount": 2, "candidatesTokenCount": 11}}
    assert usage_from(response) == TokenUsage(input_tokens=2, output_tokens=11)


def test_it_takes_null_counters_as_missing() -> None:
    usage = {
        "input_tokens": 92,
        "cache_creation_input_tokens": None,
        "cache_creation": None,
        "output_tokens": 1,
    }
    assert usage_from(usage) == TokenUsage(input_tokens=92, output_tokens=1)


@pytest.mark.parametrize("payload", [{}, {"usage": None}, {"usage": {}}, {"result": "done", "num_turns": 3}])
def test_it_says_none_when_nothing_is_reported(payload: dict[str, Any]) -> None:
    assert usage_from(payload) is None


def test_it_takes_zero_as_a_report() -> None:
    assert usage_from({"input_tokens": 0, "output_tokens": 0}) == TokenUsage()


@pytest.mark.parametrize("count", [True, False, -5, 2**63, 10**12 + 1, "1_000", " 12 ", "12", 1.0, [], {}])
@pytest.mark.parametrize(
    ("shape", "pointer"),
    [
        (lambda n: {"input_tokens": n}, "/input_tokens"),
        (lambda n: {"usage": {"input_tokens": 1, "output_tokens": n}}, "/usage/output_tokens"),
        (lambda n: {"usage": {"output_tokens": 1}, "input_tokens": n}, "/input_tokens"),
        (
            lambda n: {"input_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": n}},
            "/cache_creation/ephemeral_1h_input_tokens",
        ),
        (lambda n: {"prompt_tokens": n, "completion_tokens": 1}, "/prompt_tokens"),
        (
            lambda n: {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": n}},
            "/prompt_tokens_details/cached_tokens",
        ),
        (
            lambda n: {"usageMetadata": {"promptTokenCount": 4, "thoughtsTokenCount": n}},
            "/usageMetadata/thoughtsTokenCount",
        ),
        (
            lambda n: {"inputTokens": 1, "cacheDetails": [{"ttl": "1h", "inputTokens": n}]},
            "/cacheDetails/0/inputTokens",
        ),
    ],
)
def test_it_refuses_what_is_no_count(shape: Any, pointer: str, count: Any) -> None:
    with pytest.raises(UsageInvalid) as refused:
        usage_from(shape(count), pointer="/events/3")
    assert refused.value.pointer == f"/events/3{pointer}"
    assert refused.value.errors[0].pointer == refused.value.pointer


def test_it_refuses_details_that_are_no_object() -> None:
    with pytest.raises(UsageInvalid) as refused:
        usage_from({"prompt_tokens": 5, "prompt_tokens_details": [1]})
    assert refused.value.pointer == "/prompt_tokens_details"


def test_every_recorded_report_keeps_its_vendors_total(shared_data: Path) -> None:
    """287 recordings, 231 with a stated total (all but Anthropic's 56); reasoning is a part of output."""
    lines = (shared_data / "provider-usage" / "usage_samples.jsonl").read_text(encoding="utf-8").splitlines()
    stated = 0
    for sample in map(json.loads, lines):
        reported = sample["usage"]
        usage = usage_from({sample["usage_key"]: reported})
        assert usage is not None and usage.reasoning_tokens <= usage.output_tokens
        total = reported.get("total_tokens", reported.get("totalTokenCount", reported.get("totalTokens")))
        if total is not None:
            stated += 1
            assert usage.prompt_tokens + usage.output_tokens == total, reported
    assert (len(lines), stated) == (287, 231)


def test_the_recorded_reports_add_up_to_the_hand_count(shared_data: Path) -> None:
    """Counted apart, per vendor field: cached tokens and the five- and one-hour writes must not move."""
    text = (shared_data / "provider-usage" / "usage_samples.jsonl").read_text(encoding="utf-8")
    samples = [json.loads(line) for line in text.splitlines()]
    total = TokenUsage()
    for sample in samples:
        total += usage_from({sample["usage_key"]: sample["usage"]}) or TokenUsage()
    read = written_1h = 0
    for usage in (sample["usage"] for sample in samples):
        read += usage.get("cache_read_input_tokens", 0) + usage.get("cacheReadInputTokens", 0)
        read += usage.get("cachedContentTokenCount", 0)
        for details in ("prompt_tokens_details", "input_tokens_details"):
            read += (usage.get(details) or {}).get("cached_tokens", 0)
        written_1h += (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens", 0)
    assert total.cache_read_tokens == read
    assert total.cache_write_1h_tokens == written_1h
