"""Decides whether an answer is a summary; what is not raises, so that nothing else is ever committed."""

from __future__ import annotations

import re
from typing import Any

from budgets.core.usage import TokenUsage
from providers.errors import SummariserFailed, UsageInvalid
from providers.summarisers.values import Completion
from providers.usage import usage_from

TRUNCATED = ("length", "max_tokens", "model_context_window_exceeded")
REFUSED = ("content_filter", "refusal")
REFUSAL_OPENING = re.compile(
    r"(i['’]m sorry|i am sorry|sorry|i apologi[sz]e)\b.{0,40}\b(can['’]?t|cannot|unable|not able)"
    r"|i (can['’]?t|cannot|am unable to|am not able to|won['’]t) "
    r"(help|assist|comply|do that|summari[sz]e|provide|fulfil)"
    r"|as an ai( language model)?,? i (can['’]?t|cannot)",
    re.IGNORECASE,
)
ERROR_OPENING = re.compile(
    r"<!doctype html|<html|\{\s*\"error\"|(internal server |http )?error\b\s*[:(\d]|internal server error"
    r"|bad gateway|service unavailable|upstream connect error|traceback \(most recent call last\)"
    r"|rate limit exceeded|too many requests",
    re.IGNORECASE,
)


def reported_usage(answer: dict[str, Any]) -> TokenUsage | None:
    """What a call says it cost; a report that makes no sense is none, and no reason to lose the summary."""
    try:
        return usage_from({"usage": answer.get("usage")})
    except UsageInvalid:
        return None


def judged(completion: Completion, fence: str) -> str:
    """The summary's text, or SummariserFailed with the reason."""
    text = completion.text.strip()
    if completion.stopped in REFUSED:
        raise SummariserFailed("refusal", completion.stopped)
    if completion.stopped in TRUNCATED:
        raise SummariserFailed("truncated", completion.stopped)
    if not text:
        raise SummariserFailed("empty")
    if REFUSAL_OPENING.match(text[:200]):
        raise SummariserFailed("refusal", text[:200])
    if ERROR_OPENING.match(text[:200]):
        raise SummariserFailed("error_text", text[:200])
    if fence in text:
        raise SummariserFailed("delimiter_repeated")
    return text
