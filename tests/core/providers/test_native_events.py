"""The product's own events."""

from __future__ import annotations

from typing import Any

import pytest

from budgets.core.usage import TokenUsage
from providers.errors import EventInvalid, FormatUnknown
from providers.formats import FORMATS, parse_events

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
DOCUMENTED = [
    {"event_id": "e1", "type": "message", "message": {"role": "user", "content": "hello"}},
    {
        "event_id": "e2",
        "type": "message",
        "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
    },
    {
        "event_id": "e3",
        "type": "message",
        "message": {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    },
    {
        "event_id": "e4",
        "type": "usage",
        "usage": {
            "input_tokens": 5571,
            "output_tokens": 200,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        },
    },
    {"event_id": "e5", "type": "phase", "phase": "build"},
    {"type": "state_change", "previous": "PLAN", "new": "BUILD"},
    {"type": "dead_end", "description": "the cache is not the cause"},
    {"type": "story_complete", "epic": "E1", "story": "S1"},
    {"type": "subagent_complete", "subagent": "reviewer", "batch": "b1"},
    {"type": "protocol_load", "name": "git"},
    {"type": "protocol_unload", "name": "git"},
    {"type": "checkpoint", "epic": "E", "story": "S", "phase": "P", "task": "T", "commit": "abc"},
    {"type": "note", "text": "remember"},
]


def test_it_reads_every_documented_event() -> None:
    parsed = parse_events("native", DOCUMENTED)
    assert [event.kind for event in parsed] == [event["type"] for event in DOCUMENTED]
    assert [event.event_id for event in parsed][:6] == ["e1", "e2", "e3", "e4", "e5", None]
    assert [event.payload for event in parsed] == DOCUMENTED
    assert parsed[3].usage == TokenUsage(input_tokens=5571, output_tokens=200)
    assert [event.is_human for event in parsed[:3]] == [True, False, False]


def test_a_message_is_kept_unchanged() -> None:
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "\x00\ud800"}, {"type": "odd", "x": 1}],
        "z": 1,
    }
    (event,) = parse_events("native", [{"type": "message", "message": message, "pinned": True}])
    assert event.message == message and event.pinned


def test_an_unknown_type_is_kept() -> None:
    (event,) = parse_events("native", [{"type": "weather", "sky": "blue", "event_id": "w"}])
    assert (event.kind, event.payload["sky"]) == ("unknown", "blue")


def test_a_numbered_batch_has_its_digits_as_name() -> None:
    (event,) = parse_events("native", [{"type": "subagent_complete", "subagent": "s", "batch": 3}])
    assert event.payload["batch"] == "3"


WRONG: list[tuple[Any, str]] = [
    ("text", "/events/1"),
    ({}, "/events/1/type"),
    ({"type": 5}, "/events/1/type"),
    ({"type": "phase"}, "/events/1/phase"),
    ({"type": "phase", "phase": ""}, "/events/1/phase"),
    ({"type": "phase", "phase": 7}, "/events/1/phase"),
    ({"type": "phase", "phase": "x" * 256}, "/events/1/phase"),
    ({"type": "phase", "phase": "x", "extra": 1}, "/events/1/extra"),
    ({"type": "phase", "phase": "x", "event_id": 5}, "/events/1/event_id"),
    ({"type": "phase", "phase": "x", "event_id": ""}, "/events/1/event_id"),
    ({"type": "phase", "phase": "x", "event_id": "x" * 201}, "/events/1/event_id"),
    ({"type": "state_change", "previous": 1, "new": "B"}, "/events/1/previous"),
    ({"type": "state_change", "previous": "A"}, "/events/1/new"),
    ({"type": "checkpoint", "commit": False}, "/events/1/commit"),
    ({"type": "subagent_complete", "subagent": "s", "batch": True}, "/events/1/batch"),
    ({"type": "usage"}, "/events/1/usage"),
    ({"type": "usage", "usage": {}}, "/events/1/usage"),
    ({"type": "usage", "usage": []}, "/events/1/usage"),
    ({"type": "usage", "usage": {"input_tokens": -5}}, "/events/1/usage/input_tokens"),
    ({"type": "usage", "usage": {"input_tokens": 1}, "input_tokens": 1}, "/events/1/input_tokens"),
    ({"type": "message"}, "/events/1/message"),
    ({"type": "message", "message": {"role": "wizard", "content": ""}}, "/events/1/message/role"),
    ({"type": "message", "message": {"role": ["user"], "content": ""}}, "/events/1/message/role"),
    ({"type": "message", "message": {"role": "user"}}, "/events/1/message/content"),
    ({"type": "message", "message": {"role": "assistant", "content": None}}, "/events/1/message/content"),
    ({"type": "message", "message": {"role": "user", "content": 5}}, "/events/1/message/content"),
    ({"type": "message", "message": {"role": "user", "content": ["x"]}}, "/events/1/message/content/0"),
    (
        {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": 1}]}},
        "/events/1/message/content/0/text",
    ),
    ({"type": "message", "message": {"role": "tool", "content": "x"}}, "/events/1/message/tool_call_id"),
    (
        {"type": "message", "message": {"role": "user", "content": "x", "tool_calls": [CALL]}},
        "/events/1/message/tool_calls",
    ),
    (
        {"type": "message", "message": {"role": "assistant", "content": "x", "tool_calls": []}},
        "/events/1/message/tool_calls",
    ),
    (
        {"type": "message", "message": {"role": "assistant", "content": None, "tool_calls": [CALL, CALL]}},
        "/events/1/message/tool_calls/1/id",
    ),
    (
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": {}}}],
            },
        },
        "/events/1/message/tool_calls/0/function/arguments",
    ),
    ({"type": "message", "message": {"role": "user", "content": "x"}, "pinned": 1}, "/events/1/pinned"),
]


@pytest.mark.parametrize(("event", "pointer"), WRONG)
def test_it_refuses_a_known_event_with_a_wrong_field(event: Any, pointer: str) -> None:
    with pytest.raises(EventInvalid) as refused:
        parse_events("native", [{"type": "note", "text": "fine"}, event])
    assert refused.value.pointer == pointer
    assert refused.value.status == 422


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_text_that_is_no_content_must_be_clean(text: str) -> None:
    for event in ({"type": "phase", "phase": text}, {"type": "phase", "phase": "x", "event_id": text}):
        with pytest.raises(EventInvalid) as refused:
            parse_events("native", [event])
        assert refused.value.code == "invalid_text"


def test_an_unknown_field_has_its_own_code() -> None:
    with pytest.raises(EventInvalid) as refused:
        parse_events("native", [{"type": "note", "text": "x", "seq": 4}])
    assert refused.value.code == "unknown_field"


def test_it_knows_six_formats_and_refuses_others() -> None:
    assert FORMATS == ("native", "claude-code", "openai", "anthropic", "responses", "codex")
    with pytest.raises(FormatUnknown) as refused:
        parse_events("gemini", [])
    assert refused.value.pointer == "/format"
