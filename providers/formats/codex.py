"""Codex CLI rollouts: response items, token counts, and its own compactions.

Every token count is written twice; the running total names the call that it belongs to. What the client
itself tells the model (environment, instructions) comes as a user message and is no human input.
"""

from __future__ import annotations

from typing import Any

from providers.formats.common import text_id, unknown
from providers.formats.responses import item_text, message_from_item
from providers.parsed import ParsedEvent
from providers.usage import usage_from

Event = dict[str, Any]
CLIENT_TEXTS = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
)


def parse(events: list[Any]) -> list[ParsedEvent]:
    return [_parse_event(index, event) or unknown(index, event) for index, event in enumerate(events)]


def _parse_event(index: int, event: Any) -> ParsedEvent | None:
    payload = event.get("payload") if isinstance(event, dict) else None
    if not isinstance(payload, dict):
        return None
    if event.get("type") == "response_item":
        return _item(index, event, payload)
    if event.get("type") == "event_msg" and payload.get("type") == "token_count":
        return _token_count(index, event, payload)
    if event.get("type") == "compacted":
        text = payload["message"] if isinstance(payload.get("message"), str) else None
        return ParsedEvent(kind="summary", payload=event, index=index, text=text, starts_epoch=True)
    return None


def _item(index: int, event: Event, payload: Event) -> ParsedEvent | None:
    message = message_from_item(payload)
    if message is None:
        return None
    return ParsedEvent(
        kind="message",
        payload=event,
        index=index,
        event_id=text_id(payload.get("id")),
        message=message,
        is_human=message["role"] == "user" and not item_text(payload).lstrip().startswith(CLIENT_TEXTS),
    )


def _token_count(index: int, event: Event, payload: Event) -> ParsedEvent | None:
    info = payload.get("info")
    last = info.get("last_token_usage") if isinstance(info, dict) else None
    if not isinstance(info, dict) or not isinstance(last, dict):
        return None
    pointer = f"/events/{index}/payload/info/last_token_usage"
    usage = usage_from(last, provider="codex", pointer=pointer)
    total = info.get("total_token_usage")
    total_tokens = total.get("total_tokens") if isinstance(total, dict) else None
    response_id = f"total:{total_tokens}" if isinstance(total_tokens, int) else None
    return ParsedEvent(kind="usage", payload=event, index=index, usage=usage, response_id=response_id)
