"""What a summarising model is given: every folded message as text, in chunks that its window can hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from budgets.services.models import ResolvedModel
from providers.summarisers import SummaryRequest, planned_calls
from sessions.core.message import StoredMessage, body_text
from sessions.core.reading import tool_calls
from sessions.services.frames import Frame
from sessions.services.summary_checks import Material

# Instructions, fences and room to think, in tokens.
PROMPT_TOKENS = 1_600
# Another vendor's tokens may be smaller than ours: only this share of its window is filled.
FILLED_OF_TEN = 6
SMALLEST_CHUNK_TOKENS = 1_000
# The model is asked for a little less than there is room for: its words are not our tokens.
ASKED_OF_TEN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SummariserInput:
    """The request without its focus, and what answering it may take in all."""

    chunks: tuple[str, ...]
    previous: str
    target_tokens: int
    input_tokens: int
    output_tokens: int

    def request(self, focus: str) -> SummaryRequest:
        return SummaryRequest(
            text_chunks=self.chunks,
            previous_summary=self.previous,
            target_tokens=self.target_tokens,
            focus=focus,
        )


def summariser_input(material: Material, frame: Frame, model: ResolvedModel) -> SummariserInput:
    target = max(1, material.budget_tokens * ASKED_OF_TEN // 10)
    previous_tokens = frame.counter.count(material.previous)
    room = model.context_window - PROMPT_TOKENS - 2 * target - previous_tokens
    chunk_tokens = max(SMALLEST_CHUNK_TOKENS, room * FILLED_OF_TEN // 10)
    chunks = tuple(_chunks(material, chunk_tokens))
    calls = planned_calls(len(chunks))
    folded = sum(message.tokens for message in material.messages)
    return SummariserInput(
        chunks=chunks,
        previous=material.previous,
        target_tokens=target,
        input_tokens=folded + previous_tokens + calls * (PROMPT_TOKENS + target),
        output_tokens=calls * target,
    )


def _chunks(material: Material, chunk_tokens: int) -> Iterator[str]:
    lines: list[str] = []
    tokens = 0
    for message in material.messages:
        if lines and tokens + message.tokens > chunk_tokens:
            yield "\n\n".join(lines)
            lines, tokens = [], 0
        if message.tokens > chunk_tokens:
            yield from _pieces(message, chunk_tokens)
            continue
        lines.append(_written(message))
        tokens += message.tokens
    if lines:
        yield "\n\n".join(lines)


def _pieces(message: StoredMessage, chunk_tokens: int) -> Iterator[str]:
    """One message that is larger than a chunk: all of it, cut by its share of characters."""
    text = _written(message)
    size = max(1, len(text) * chunk_tokens // message.tokens)
    return (text[start : start + size] for start in range(0, len(text), size))


def _written(message: StoredMessage) -> str:
    calls = "".join(f"\n→ {call.name} {call.raw}" for call in tool_calls(message))
    return f"#{message.seq} {message.role}: {body_text(message.body)}{calls}"
