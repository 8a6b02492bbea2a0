"""A summariser behind OpenAI's chat API or any server that speaks it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from providers.blocks import plain_text
from providers.errors import SummariserFailed
from providers.summarisers.folding import fold
from providers.summarisers.http import CallLimits, post_json
from providers.summarisers.judgement import reported_usage
from providers.summarisers.values import Completion, Prompt, SummaryReply, SummaryRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAISummariser:
    """`base_url` ends where `/chat/completions` begins, as in https://api.openai.com/v1."""

    base_url: str
    model: str
    api_key: str = field(repr=False)
    limits: CallLimits = field(default_factory=CallLimits)

    def summarise(self, request: SummaryRequest) -> SummaryReply:
        return fold(request, self._complete)

    def _complete(self, prompt: Prompt) -> Completion:
        answer = post_json(
            f"{self.base_url.rstrip('/')}/chat/completions",
            # Servers of one's own may want no key; a header without one is refused.
            headers={"Authorization": f"Bearer {self.api_key}"} if self.api_key else {},
            body={
                "model": self.model,
                "messages": [
                    {"role": "system", "content": prompt.instructions},
                    {"role": "user", "content": prompt.material},
                ],
                "max_completion_tokens": prompt.max_output_tokens,
            },
            limits=self.limits,
        )
        return _completion(answer, self.model)


def _completion(answer: dict[str, Any], asked_model: str) -> Completion:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise SummariserFailed("unexpected_answer", "no choices with a message")
    stopped = "refusal" if message.get("refusal") else str(choice.get("finish_reason") or "")
    return Completion(
        text=plain_text(message.get("content")),
        usage=reported_usage(answer),
        model=str(answer.get("model") or asked_model),
        stopped=stopped,
    )
