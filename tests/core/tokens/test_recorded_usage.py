"""Our counts beside what providers reported for the same recorded requests."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from budgets.catalogue import find_model
from budgets.tokens import counter_for, message_tokens, reply_tokens, tools_tokens

SHARED = Path(os.environ.get("CTXBUDGET_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
RECORDED = SHARED / "provider-usage" / "usage_samples.jsonl"
# What a request may carry without asking for tokens that it does not contain.
PLAIN = {
    "model", "messages", "system", "max_tokens", "stream", "temperature", "tools", "tool_choice", "n",
    "stream_options", "max_completion_tokens", "reasoning_effort", "top_p", "metadata", "cache_control",
}  # fmt: skip
# These rewrite the prompt before the model sees it.
REWRITING = ("search", "o1-mini", "compound", "oss")

pytestmark = pytest.mark.skipif(not RECORDED.exists(), reason="the recorded requests are not on this machine")


def recorded(provider: str) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Model, request and reported prompt tokens of requests made of plain text and functions."""
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        request, usage = sample["request"], sample["usage"]
        if sample["provider"] == provider and _is_plain(request, usage):
            reported = usage.get("prompt_tokens") or sum(
                usage.get(key) or 0
                for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            )
            yield sample["model"] or request["model"], request, reported


def _is_plain(request: Any, usage: Any) -> bool:
    if not isinstance(request, dict) or not isinstance(usage, dict) or request.keys() - PLAIN:
        return False
    if any(mark in request["model"] for mark in REWRITING) or "thoughtsTokenCount" in usage:
        return False
    functions = all("function" in tool or "input_schema" in tool for tool in request.get("tools") or [])
    return functions and all(_is_text(message.get("content")) for message in request["messages"])


def _is_text(content: object) -> bool:
    if isinstance(content, list):
        return all(block.get("type") == "text" and "citations" not in block for block in content)
    return content is None or isinstance(content, str)


def counted(request: dict[str, Any], tokenizer: str) -> int:
    counter = counter_for(tokenizer)
    system = [{"role": "system", "content": request["system"]}] if request.get("system") else []
    messages = sum(message_tokens(counter, message) for message in [*system, *request["messages"]])
    return messages + reply_tokens(counter) + tools_tokens(counter, request.get("tools") or [])


def _tokenizer(model: str) -> str:
    facts = find_model(model)
    return facts.tokenizer if facts else "generic"


def test_plain_openai_requests_are_counted_to_the_token() -> None:
    pairs = [
        (model, counted(request, "o200k_base"), reported)
        for model, request, reported in recorded("openai")
        if _tokenizer(model) == "o200k_base" and not request.get("tools")
    ]
    assert len(pairs) >= 8
    # Reasoning models report one token less than the cookbook's frame.
    assert [pair for pair in pairs if not 0 <= pair[1] - pair[2] <= 1] == []


def test_openai_requests_with_functions_are_never_under_counted() -> None:
    pairs = [
        (model, counted(request, "o200k_base"), reported)
        for model, request, reported in recorded("openai")
        if _tokenizer(model) == "o200k_base" and request.get("tools")
    ]
    assert len(pairs) >= 4
    assert [pair for pair in pairs if not 0 <= pair[1] - pair[2] <= 10] == []


def test_what_claude_reports_lies_between_low_and_high() -> None:
    claude = counter_for("claude")
    pairs = [
        (model, counted(request, "claude"), reported)
        for model, request, reported in recorded("anthropic")
        if _tokenizer(model) == "claude"
    ]
    assert len(pairs) >= 10
    # The fixed 600 for the tool prompt may outweigh a tiny request, so only larger ones are held to low.
    assert [pair for pair in pairs if pair[2] > claude.high(pair[1])] == []
    substantial = [pair for pair in pairs if pair[2] > 1_000]
    assert substantial
    assert [pair for pair in substantial if pair[2] < claude.low(pair[1])] == []
