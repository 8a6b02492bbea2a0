"""Whatever is wrong in an event, an adapter keeps it or names the field."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from providers.errors import EventInvalid
from providers.formats import parse_events

USAGE = {
    "input_tokens": 4,
    "cache_read_input_tokens": 1,
    "cache_creation": {"ephemeral_1h_input_tokens": 2},
    "output_tokens": 1,
    "output_tokens_details": {"thinking_tokens": 1},
}
CHAT_USAGE = {
    "prompt_tokens": 1,
    "completion_tokens": 1,
    "total_tokens": 2,
    "prompt_tokens_details": {"cached_tokens": 1},
    "completion_tokens_details": {"reasoning_tokens": 1},
}
CALL = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
ANSWER = [
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "text", "text": "hi"},
    {"type": "tool_use", "id": "t", "name": "ls", "input": {"path": "."}},
]
RESULTS = [
    {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "x"}, IMAGE],
        "is_error": True,
    },
    {"type": "text", "text": "go on"},
]
CHUNK = {"object": "chat.completion.chunk", "id": "k", "model": "m"}
OUTPUT_ITEMS = [
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
    {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
    {
        "type": "function_call_output",
        "call_id": "c",
        "output": {"content": [{"type": "input_text", "text": "x"}]},
    },
]
GOOD: list[tuple[str, list[Any]]] = [
    (
        "claude-code",
        [{"type": "assistant", "uuid": "u", "message": {"id": "m", "content": ANSWER, "usage": USAGE}}],
    ),
    (
        "claude-code",
        [{"type": "user", "uuid": "u", "isMeta": False, "message": {"role": "user", "content": RESULTS}}],
    ),
    ("claude-code", [{"type": "user", "isCompactSummary": True, "message": {"content": "so far"}}]),
    ("claude-code", [{"type": "result", "usage": USAGE, "input_tokens": 3}]),
    (
        "openai",
        [
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "x"}],
                "tool_calls": [CALL],
                "name": "n",
            }
        ],
    ),
    ("openai", [{"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}}]),
    (
        "openai",
        [{"id": "i", "choices": [{"message": {"role": "assistant", "content": "x"}}], "usage": CHAT_USAGE}],
    ),
    (
        "openai",
        [
            {
                **CHUNK,
                "choices": [{"index": 0, "delta": {"content": "x", "tool_calls": [{"index": 0, **CALL}]}}],
            },
            {**CHUNK, "choices": [], "usage": CHAT_USAGE},
        ],
    ),
    ("anthropic", [{"id": "m", "role": "assistant", "content": ANSWER, "usage": USAGE}]),
    ("anthropic", [{"role": "user", "content": RESULTS}, {"role": "system", "content": "s"}]),
    (
        "anthropic",
        [
            {
                "type": "message_start",
                "message": {"id": "m", "role": "assistant", "content": [], "usage": USAGE},
            },
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "tool_use", "id": "t", "name": "l"},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": "{}"},
            },
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "x"}},
            {"type": "message_delta", "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        ],
    ),
    ("responses", [{"object": "response", "id": "r", "output": OUTPUT_ITEMS, "usage": USAGE}]),
    ("responses", [*OUTPUT_ITEMS, {"role": "user", "content": [{"type": "input_image", "image_url": "u"}]}]),
    ("codex", [{"type": "response_item", "payload": item} for item in OUTPUT_ITEMS]),
    (
        "codex",
        [
            {
                "type": "event_msg",
                "payload": {
                    "type": "token_count",
                    "info": {"last_token_usage": USAGE, "total_token_usage": {"total_tokens": 5}},
                },
            },
            {"type": "compacted", "payload": {"message": "so far"}},
        ],
    ),
    ("native", [{"type": "message", "message": {"role": "assistant", "content": "x", "tool_calls": [CALL]}}]),
    ("native", [{"type": "usage", "usage": USAGE}, {"type": "checkpoint", "epic": "E", "commit": "c"}]),
]
ODD: list[Any] = [
    None,
    True,
    -1,
    5,
    1.5,
    "",
    "odd",
    "\ud800",
    [],
    [None],
    ["x"],
    [[]],
    {},
    {"type": []},
    {"type": "text"},
]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in steps:
        yield from paths(inner, (*path, key))


def replaced(events: list[Any], path: tuple[Any, ...], odd: Any) -> list[Any]:
    changed = copy.deepcopy(events)
    *parents, last = path
    target: Any = changed
    for key in parents:
        target = target[key]
    target[last] = odd
    return changed


@pytest.mark.parametrize(("format", "events"), GOOD)
def test_good_events_parse(format: str, events: list[Any]) -> None:
    assert all(event.kind != "unknown" for event in parse_events(format, events))


@pytest.mark.parametrize(("format", "events"), GOOD)
def test_no_wrong_field_breaks_an_adapter(format: str, events: list[Any]) -> None:
    """Every field of every good event, replaced by every odd value."""
    for path in paths(events):
        for odd in ODD if path else ():
            changed = replaced(events, path, odd)
            try:
                parsed = parse_events(format, changed)
            except EventInvalid as refused:
                assert refused.pointer.startswith("/events/"), (path, odd)
                continue
            assert all(0 <= event.index < len(events) for event in parsed)
            assert all(event.message is not None for event in parsed if event.kind == "message")
