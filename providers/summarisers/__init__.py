"""Summarisers that call a model; the built-in one, which calls nothing, lives with the sessions."""

from __future__ import annotations

from providers.errors import SummariserFailed
from providers.summarisers.anthropic import AnthropicSummariser
from providers.summarisers.folding import planned_calls
from providers.summarisers.http import CallLimits
from providers.summarisers.openai import OpenAISummariser
from providers.summarisers.values import Summariser, SummaryReply, SummaryRequest, new_delimiter

__all__ = [
    "AnthropicSummariser",
    "CallLimits",
    "OpenAISummariser",
    "Summariser",
    "SummariserFailed",
    "SummaryReply",
    "SummaryRequest",
    "new_delimiter",
    "planned_calls",
    "summariser_for",
]

DEFAULT_URLS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}


def summariser_for(
    kind: str, *, model: str, api_key: str, base_url: str = "", limits: CallLimits | None = None
) -> Summariser:
    """The summariser that a policy names: openai or anthropic."""
    if kind not in DEFAULT_URLS:
        raise SummariserFailed("unknown_summariser", kind)
    make = OpenAISummariser if kind == "openai" else AnthropicSummariser
    return make(
        base_url=base_url or DEFAULT_URLS[kind], model=model, api_key=api_key, limits=limits or CallLimits()
    )
