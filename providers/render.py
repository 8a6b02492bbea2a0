"""Spells an assembled context in the format that the agent asked for, and checks the spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from providers.errors import FormatUnknown
from providers.rendering.anthropic import OPENING, anthropic_messages, anthropic_system
from providers.rendering.openai import openai_messages
from providers.rendering.plain import plain_messages
from providers.validity import validate

__all__ = ["OPENING", "RENDER_FORMATS", "Rendered", "render", "validate"]

RENDER_FORMATS = ("openai", "anthropic", "plain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What to send: the system prompt stands apart and is not repeated among the messages."""

    system: str | None
    messages: list[dict[str, Any]]


def render(system: str, messages: list[dict[str, Any]], format: str) -> Rendered:
    if format == "anthropic":
        return Rendered(system=anthropic_system(system, messages), messages=anthropic_messages(messages))
    if format == "openai":
        return Rendered(system=system or None, messages=openai_messages(messages))
    if format == "plain":
        return Rendered(system=system or None, messages=plain_messages(messages))
    raise FormatUnknown("/format", f"Must be one of {', '.join(RENDER_FORMATS)}.")
