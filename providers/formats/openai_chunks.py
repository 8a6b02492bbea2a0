"""Joins the chunks of a streamed chat completion into the completion that they spell."""

from __future__ import annotations

from typing import Any

from providers.formats.common import object_of, objects_in

Event = dict[str, Any]


def joined_chunks(events: list[Any]) -> list[tuple[int, Any]]:
    """Events with their index; the chunks of one completion become it, where its last chunk stood."""
    joined: list[tuple[int, Any]] = []
    open_chunks: dict[str, list[Event]] = {}
    last_index: dict[str, int] = {}
    for index, event in enumerate(events):
        if isinstance(event, dict) and event.get("object") == "chat.completion.chunk":
            open_chunks.setdefault(str(event.get("id")), []).append(event)
            last_index[str(event.get("id"))] = index
        else:
            joined.append((index, event))
    joined += [(last_index[key], _completion(chunks)) for key, chunks in open_chunks.items()]
    return sorted(joined, key=lambda pair: pair[0])


def _completion(chunks: list[Event]) -> Event:
    message: Event = {"role": "assistant", "content": None}
    calls: dict[int, Event] = {}
    completion = dict(chunks[-1], object="chat.completion", usage=None)
    for chunk in chunks:
        completion["usage"] = chunk.get("usage") or completion["usage"]
        for delta in _first_choice_deltas(chunk):
            _add_delta(message, calls, delta)
    if calls:
        message["tool_calls"] = [calls[position] for position in sorted(calls)]
    said_something = message["content"] is not None or calls
    completion["choices"] = [{"index": 0, "message": message}] if said_something else []
    return completion


def _first_choice_deltas(chunk: Event) -> list[Event]:
    choices = objects_in(chunk.get("choices"))
    return [object_of(choice.get("delta")) for choice in choices if choice.get("index", 0) == 0]


def _add_delta(message: Event, calls: dict[int, Event], delta: Event) -> None:
    if isinstance(delta.get("content"), str):
        message["content"] = (message["content"] or "") + delta["content"]
    for part in objects_in(delta.get("tool_calls")):
        if isinstance(part.get("index"), int):
            call = calls.setdefault(part["index"], _empty_call())
            _add_call_part(call, part)


def _empty_call() -> Event:
    return {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}


def _add_call_part(call: Event, part: Event) -> None:
    call["id"] = call["id"] or str(part.get("id") or "")
    function = object_of(part.get("function"))
    call["function"]["name"] += str(function.get("name") or "")
    call["function"]["arguments"] += str(function.get("arguments") or "")
