"""The built-in summariser: deterministic, offline, inside an exact token budget."""

from sessions.core.summary.compose import key_events, summarise

__all__ = ["key_events", "summarise"]
