"""Folds any number of chunks into one summary: each by itself, then together with what was known before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from budgets.core.usage import TokenUsage
from providers.errors import SummariserFailed
from providers.summarisers.judgement import judged
from providers.summarisers.prompts import chunk_prompt, closing_prompt, fence_of
from providers.summarisers.values import Completion, Prompt, SummaryReply, SummaryRequest

# Partial summaries that are joined in one call; more are joined in rounds.
FAN_IN = 8

Complete = Callable[[Prompt], Completion]


def fold(request: SummaryRequest, complete: Complete) -> SummaryReply:
    """One call for one chunk; for more, one call each, then one for every eight of their summaries."""
    chunks = [chunk for chunk in request.text_chunks if chunk.strip()]
    if not chunks and not request.previous_summary.strip():
        raise SummariserFailed("nothing_to_summarise")
    steady = replace(request, delimiter=fence_of(request))
    meter = _Meter(complete, steady.delimiter)
    try:
        parts = chunks if len(chunks) <= 1 else [meter.summary(chunk_prompt(steady, c)) for c in chunks]
        while len(parts) > FAN_IN:
            groups = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
            parts = [meter.summary(chunk_prompt(steady, "\n\n".join(group))) for group in groups]
        text = meter.summary(closing_prompt(steady, parts))
    except SummariserFailed as failure:
        failure.usage = meter.usage
        raise
    return SummaryReply(text=text, usage=meter.usage, model=meter.model)


def planned_calls(chunks: int) -> int:
    """How many calls `fold` makes for so many chunks, so that their cost can be reserved."""
    if chunks <= 1:
        return 1
    calls, parts = chunks, chunks
    while parts > FAN_IN:
        parts = -(-parts // FAN_IN)
        calls += parts
    return calls + 1


class _Meter:
    """Makes the calls, judges every answer and adds up what they cost."""

    def __init__(self, complete: Complete, fence: str) -> None:
        self.complete = complete
        self.fence = fence
        self.usage: TokenUsage | None = TokenUsage()
        self.model = ""

    def summary(self, prompt: Prompt) -> str:
        completion = self.complete(prompt)
        if self.usage is None or completion.usage is None:
            self.usage = None
        else:
            self.usage += completion.usage
        self.model = completion.model
        return judged(completion, self.fence)
