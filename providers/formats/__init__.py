"""The six formats that events may arrive in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from providers.errors import FormatUnknown
from providers.formats import anthropic, claude_code, codex, native, openai, responses
from providers.parsed import ParsedEvent

PARSERS: dict[str, Callable[[list[Any]], list[ParsedEvent]]] = {
    "native": native.parse,
    "claude-code": claude_code.parse,
    "openai": openai.parse,
    "anthropic": anthropic.parse,
    "responses": responses.parse,
    "codex": codex.parse,
}
FORMATS = tuple(PARSERS)


def parse_events(format: str, events: list[Any]) -> list[ParsedEvent]:
    """`events` in the product's own words, in order; each keeps the index of the event it came from."""
    parser = PARSERS.get(format)
    if parser is None:
        raise FormatUnknown("/format", f"Must be one of {', '.join(FORMATS)}.")
    return parser(events)
