"""OpenAI chat, Anthropic, OpenAI Responses and Codex events."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from budgets.core.usage import TokenUsage
from providers.formats import parse_events

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}


def test_openai_a_completion_is_a_message_with_its_usage() -> None:
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "gpt-4o",
        "choices": [
            {"message": {"role": "assistant", "content": None, "tool_calls": [CALL], "refusal": None}}
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }
    (event,) = parse_events("openai", [completion])
    assert event.message == {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert (event.usage, event.response_id) == (TokenUsage(input_tokens=10, output_tokens=2), "chatcmpl-1")
    assert (event.event_id, event.model) == ("chatcmpl-1", "gpt-4o")


def test_openai_chunks_of_one_answer_are_joined() -> None:
    def chunk(delta: dict[str, Any], **extra: Any) -> dict[str, Any]:
        return {
            "id": "x",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta}],
            **extra,
        }

    part = {"index": 0, "id": "c1", "function": {"name": "ls", "arguments": '{"path"'}}
    events: list[Any] = [
        {"role": "user", "content": "list"},
        chunk({"role": "assistant", "content": "I'll "}),
        chunk({"content": "look"}),
        chunk({"tool_calls": [part]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ': "."}'}}]}),
        {
            "id": "x",
            "object": "chat.completion.chunk",
            "choices": [],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        },
    ]
    human, answer = parse_events("openai", events)
    assert human.is_human
    assert answer.message == {"role": "assistant", "content": "I'll look", "tool_calls": [CALL]}
    assert (answer.usage, answer.index) == (TokenUsage(input_tokens=7, output_tokens=3), 5)


def test_openai_old_and_other_spellings_become_canonical() -> None:
    developer, function, refusal, empty, custom = parse_events(
        "openai",
        [
            {"role": "developer", "content": "be kind"},
            {"role": "function", "name": "ls", "content": "a.py"},
            {"role": "assistant", "content": None, "refusal": "I cannot"},
            {"role": "assistant", "content": [], "tool_calls": [CALL], "prefix": False},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c2", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
            },
        ],
    )
    assert developer.message == {"role": "system", "content": "be kind"}
    assert function.message == {"role": "tool", "name": "ls", "tool_call_id": "ls", "content": "a.py"}
    assert refusal.message == {"role": "assistant", "content": "I cannot"}
    assert empty.message == {"role": "assistant", "content": None, "tool_calls": [CALL], "prefix": False}
    assert custom.message and custom.message["tool_calls"][0]["function"] == {"name": "sh", "arguments": "ls"}


def test_openai_recorded_sessions_pass_unchanged(shared_data: Path) -> None:
    """1,937 messages of 100 customer-service runs and 239 of 11 coding runs, counted by role."""
    roles: dict[str, Counter[str]] = {}
    for source in ("tau-bench", "swe-agent"):
        roles[source] = Counter()
        for line in (shared_data / source / "sessions.jsonl").read_text(encoding="utf-8").splitlines():
            messages = json.loads(line)["messages"]
            parsed = parse_events("openai", messages)
            assert [event.message for event in parsed] == messages
            roles[source].update(event.message["role"] for event in parsed if event.message)
            assert [e.is_human for e in parsed] == [m["role"] == "user" for m in messages]
    assert roles["tau-bench"] == {"system": 100, "user": 686, "assistant": 1163, "tool": 577}
    assert roles["swe-agent"] == {"system": 11, "user": 96, "assistant": 112, "tool": 20}


def test_anthropic_a_response_is_a_message_with_its_usage() -> None:
    response = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Look"},
            {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}},
        ],
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 9},
    }
    (event,) = parse_events("anthropic", [response])
    assert event.message == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Look"},
        ],
        "tool_calls": [CALL],
    }
    assert event.usage == TokenUsage(input_tokens=3, cache_read_tokens=7, output_tokens=9)
    assert event.response_id == event.event_id == "msg_1"


def test_anthropic_the_events_of_a_stream_are_joined() -> None:
    start = {
        "id": "msg_2",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": 25, "output_tokens": 1},
    }
    tool = {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}
    events: list[Any] = [
        {"type": "message_start", "message": start},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Lo"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": tool},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"path":'},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": ' "."}'},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 15}},
        {"type": "message_stop"},
    ]
    ping, answer = parse_events("anthropic", events)
    assert ping.kind == "unknown"
    assert answer.message == {"role": "assistant", "content": "Look", "tool_calls": [CALL]}
    assert answer.usage == TokenUsage(input_tokens=25, output_tokens=15), "running totals: the last one wins"


def test_anthropic_recorded_requests_parse(shared_data: Path) -> None:
    """Every message of the recorded requests; 22 tool results and 22 tool calls, each its own."""
    calls = results = messages = 0
    for line in (
        (shared_data / "provider-usage" / "usage_samples.jsonl").read_text(encoding="utf-8").splitlines()
    ):
        sample = json.loads(line)
        if sample["provider"] == "anthropic" and "messages" in sample["request"]:
            parsed = parse_events("anthropic", sample["request"]["messages"])
            assert {event.index for event in parsed} == set(range(len(sample["request"]["messages"])))
            messages += sum(event.kind == "message" for event in parsed)
            calls += sum(len((event.message or {}).get("tool_calls", ())) for event in parsed)
            results += sum((event.message or {}).get("role") == "tool" for event in parsed)
    assert (calls, results) == (22, 22)
    assert messages > 100


def test_responses_a_response_is_one_assistant_message() -> None:
    response = {
        "object": "response",
        "id": "resp_1",
        "model": "gpt-5",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Look"}]},
            {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": '{"path": "."}'},
            {"type": "function_call", "call_id": "c2", "name": "ls", "arguments": "{}"},
        ],
        "usage": {"input_tokens": 18, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 5},
    }
    second = {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    for event in (response, {"type": "response.completed", "response": response}):
        (parsed,) = parse_events("responses", [event])
        assert parsed.message == {"role": "assistant", "content": "Look", "tool_calls": [CALL, second]}
        assert parsed.usage == TokenUsage(input_tokens=10, cache_read_tokens=8, output_tokens=5)
        assert parsed.response_id == "resp_1"


def test_responses_items_become_messages() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "auto"}
    items: list[Any] = [
        {"role": "developer", "content": "be kind"},
        {"role": "user", "content": [{"type": "input_text", "text": "what is it?"}, image]},
        {"type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": "*** Begin"},
        {"type": "function_call_output", "call_id": "c3", "output": {"content": "no", "success": False}},
        {"type": "compaction", "encrypted_content": "…"},
        {"type": "reasoning", "summary": []},
        {"type": "web_search_call", "id": "ws"},
    ]
    parsed = parse_events("responses", items)
    assert [event.message for event in parsed[:4]] == [
        {"role": "system", "content": "be kind"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "what is it?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c3",
                    "type": "function",
                    "function": {"name": "apply_patch", "arguments": "*** Begin"},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c3", "content": "no", "is_error": True},
    ]
    assert [event.kind for event in parsed[4:]] == ["summary", "unknown", "unknown"]
    assert parsed[4].starts_epoch


def test_responses_recorded_requests_parse(shared_data: Path) -> None:
    calls = outputs = humans = 0
    for line in (
        (shared_data / "provider-usage" / "usage_samples.jsonl").read_text(encoding="utf-8").splitlines()
    ):
        request = json.loads(line)["request"]
        if isinstance(request, dict) and isinstance(request.get("input"), list):
            parsed = parse_events("responses", request["input"])
            calls += sum(len((event.message or {}).get("tool_calls", ())) for event in parsed)
            outputs += sum((event.message or {}).get("role") == "tool" for event in parsed)
            humans += sum(event.is_human for event in parsed)
    assert (calls, outputs, humans) == (9, 10, 88)


def test_codex_a_rollout_gives_its_own_closing_totals(recorded: Callable[[str], list[Any]]) -> None:
    """The rollout's last token_count states the sums of the 39 calls; each count stands there twice."""
    events = recorded("codex/rollout-2025-11-17.jsonl")
    parsed = parse_events("codex", events)
    roles = Counter(event.message["role"] if event.message else event.kind for event in parsed)
    assert roles == {"user": 2, "assistant": 39, "tool": 39, "usage": 78, "unknown": 121}
    assert [event.is_human for event in parsed if event.message and event.message["role"] == "user"] == [
        False,
        True,
    ]
    by_response = {event.response_id: event.usage for event in parsed if event.usage}
    spent = sum((usage for usage in by_response.values() if usage), TokenUsage())
    assert len(by_response) == 39
    assert (spent.prompt_tokens, spent.cache_read_tokens) == (1099261, 1027328)
    assert (spent.output_tokens, spent.reasoning_tokens) == (22305, 19520)
    assert [event.usage for event in parsed if event.usage][-1].prompt_tokens == 52645, "the last prompt"


def test_codex_calls_and_outputs_share_their_ids(recorded: Callable[[str], list[Any]]) -> None:
    parsed = parse_events("codex", recorded("codex/rollout-2025-11-17.jsonl"))
    messages = [event.message for event in parsed if event.message]
    calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert calls == [message["tool_call_id"] for message in messages if message["role"] == "tool"]


def test_codex_its_own_compaction_starts_an_epoch() -> None:
    (event,) = parse_events("codex", [{"type": "compacted", "payload": {"message": "So far"}}])
    assert (event.kind, event.text, event.starts_epoch) == ("summary", "So far", True)


@pytest.mark.parametrize("format", ["openai", "anthropic", "responses", "codex", "claude-code"])
@pytest.mark.parametrize(
    "event",
    [
        None,
        7,
        "x",
        [],
        {},
        {"role": "wizard", "content": "x"},
        {"role": ["user"], "content": "x"},
        {"type": {"a": 1}},
        {"object": "response", "output": 5},
        {"object": "chat.completion.chunk"},
        {"choices": [None]},
        {"choices": []},
        {"type": "message_start"},
        {"type": "content_block_delta", "index": 0},
        {"type": "response_item", "payload": 5},
        {"type": "event_msg", "payload": {"type": "token_count", "info": None}},
        {"type": "assistant", "message": None},
    ],
)
def test_no_unknown_event_is_an_error(format: str, event: Any) -> None:
    (parsed,) = parse_events(format, [event])
    assert parsed.kind == "unknown"
    assert parsed.usage is None and parsed.message is None
