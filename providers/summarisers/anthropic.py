"""A summariser behind Anthropic's messages API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from providers.blocks import plain_text
from providers.errors import SummariserFailed
from providers.summarisers.folding import fold
from providers.summarisers.http import CallLimits, post_json
from providers.summarisers.judgement import reported_usage
from providers.summarisers.values import Completion, Prompt, SummaryReply, SummaryRequest

API_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicSummariser:
    """`base_url` is the host, with or without /v1, as in https://api.anthropic.com."""

    base_url: str
    model: str
    api_key: str = field(repr=False)
    limits: CallLimits = field(default_factory=CallLimits)

    def summarise(self, request: SummaryRequest) -> SummaryReply:
        return fold(request, self._complete)

    def _complete(self, prompt: Prompt) -> Completion:
        answer = post_json(
            f"{self.base_url.rstrip('/').removesuffix('/v1')}/v1/messages",
            headers={"x-api-key": self.api_key, "anthropic-version": API_VERSION},
            body={
                "model": self.model,
                "max_tokens": prompt.max_output_tokens,
                "system": prompt.instructions,
                "messages": [{"role": "user", "content": prompt.material}],
            },
            limits=self.limits,
        )
        return _completion(answer, self.model)


def _completion(answer: dict[str, Any], asked_model: str) -> Completion:
    if not isinstance(answer.get("content"), list):
        raise SummariserFailed("unexpected_answer", "no content")
    return Completion(
        text=plain_text(answer["content"]),
        usage=reported_usage(answer),
        model=str(answer.get("model") or asked_model),
        stopped=str(answer.get("stop_reason") or ""),
    )
