"""Joins the server-sent events of a streamed Anthropic response into the message that they spell."""

from __future__ import annotations

import json
from typing import Any

from providers.blocks import RAW_ARGUMENTS
from providers.formats.common import object_of, objects_in

Event = dict[str, Any]
STREAM_TYPES = {
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
}


def joined_streams(events: list[Any]) -> list[tuple[int, Any]]:
    """Events with their index; each streamed response becomes one message, where its last event stood."""
    joined: list[tuple[int, Any]] = []
    stream: list[Event] = []
    last = 0
    for index, event in enumerate(events):
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "message_start" and stream:
            joined.append((last, _message(stream)))
            stream = []
        if isinstance(kind, str) and kind in STREAM_TYPES:
            stream.append(event)
            last = index
        else:
            joined.append((index, event))
    if stream:
        joined.append((last, _message(stream)))
    return sorted(joined, key=lambda pair: pair[0])


def _message(stream: list[Event]) -> Event:
    """The streamed message; a stream whose start is missing stays as it is, unknown."""
    start = stream[0].get("message")
    if stream[0]["type"] != "message_start" or not isinstance(start, dict):
        return {"type": "stream", "events": stream}
    blocks: dict[int, Event] = {}
    inputs: dict[int, str] = {}
    usage = dict(object_of(start.get("usage")))
    for event in stream[1:]:
        if event["type"] == "message_delta":
            # Counters here are running totals: the last one wins.
            totals = object_of(event.get("usage"))
            usage.update({name: count for name, count in totals.items() if count is not None})
        else:
            _add_block_event(blocks, inputs, event)
    for position, text in inputs.items():
        blocks[position]["input"] = _parsed_input(text)
    content = [*objects_in(start.get("content")), *(blocks[position] for position in sorted(blocks))]
    return {**start, "content": content, "usage": usage}


def _add_block_event(blocks: dict[int, Event], inputs: dict[int, str], event: Event) -> None:
    position = event.get("index")
    if not isinstance(position, int):
        return
    if event["type"] == "content_block_start" and isinstance(event.get("content_block"), dict):
        blocks[position] = dict(event["content_block"])
    delta = event.get("delta")
    if event["type"] != "content_block_delta" or position not in blocks or not isinstance(delta, dict):
        return
    if delta.get("type") == "input_json_delta":
        inputs[position] = inputs.get(position, "") + str(delta.get("partial_json") or "")
        return
    for name in ("text", "thinking", "signature"):
        if isinstance(delta.get(name), str):
            blocks[position][name] = str(blocks[position].get(name) or "") + delta[name]


def _parsed_input(text: str) -> Any:
    if not text:
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {RAW_ARGUMENTS: text}
