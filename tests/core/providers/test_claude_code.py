"""Claude Code's stream and transcripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from budgets.core.usage import TokenUsage
from providers.errors import UsageInvalid
from providers.formats import parse_events
from providers.parsed import ParsedEvent

Recorded = Callable[[str], list[Any]]


def parse(*events: Any) -> list[ParsedEvent]:
    return parse_events("claude-code", list(events))


def kinds(parsed: list[ParsedEvent]) -> dict[str, int]:
    """Messages by role, the others by kind; human input is marked."""
    names = [
        f"{event.message['role']}{'*' if event.is_human else ''}"
        if event.kind == "message" and event.message
        else event.kind
        for event in parsed
    ]
    return dict(Counter(names))


def spent(parsed: list[ParsedEvent]) -> TokenUsage:
    """Usage by response, the last report of each; what no response names is added as it is."""
    by_response: dict[str, TokenUsage] = {}
    for position, event in enumerate(parsed):
        if event.usage is not None:
            by_response[event.response_id or f"#{position}"] = event.usage
    return sum(by_response.values(), TokenUsage())


# Counted by hand and by a script of ten lines that keys `message.usage` on `message.id`:
# name, kinds, responses, (input, cache writes, cache reads, output).
RECORDINGS = [
    (
        "claude-code-action/sample-turns.json",
        {"unknown": 2, "assistant": 4, "tool": 3},
        4,
        (630, 0, 315, 265),
    ),
    (
        "claude-code-log/edge_cases.jsonl",
        {"user*": 7, "assistant": 4, "tool": 1, "unknown": 6, "summary": 1},
        4,
        (488, 0, 0, 435),
    ),
    (
        "claude-code-log/representative_messages.jsonl",
        {"user*": 4, "assistant": 5, "tool": 2, "summary": 1},
        5,
        (218, 0, 0, 445),
    ),
    ("claude-code-log/session_b.jsonl", {"user*": 2, "assistant": 1}, 1, (20, 0, 0, 35)),
    (
        "claude-code-log/todowrite_examples.jsonl",
        {"user*": 2, "assistant": 6, "tool": 3, "summary": 1},
        6,
        (883, 0, 0, 328),
    ),
    ("happy/0-say-lol-session.jsonl", {"user*": 1, "assistant": 1}, 1, (4, 17755, 0, 5)),
    (
        "happy/1-continue-run-ls-tool.jsonl",
        {"summary": 1, "user*": 2, "assistant": 3, "tool": 1},
        3,
        (14, 35691, 17776, 100),
    ),
    ("happy/active.jsonl", {"unknown": 1}, 0, (0, 0, 0, 0)),
    ("happy/cleared.jsonl", {"unknown": 1}, 0, (0, 0, 0, 0)),
    ("happy/completed.jsonl", {"unknown": 1}, 0, (0, 0, 0, 0)),
    ("happy/edit-active.jsonl", {"unknown": 1}, 0, (0, 0, 0, 0)),
    # Three lines of two responses: the same response is written twice.
    ("happy/duplicate-assistant-response.jsonl", {"user*": 2, "assistant": 3}, 2, (8, 18642, 13594, 11)),
    (
        "happy/permission-prompt-aborted-with-interrupt.jsonl",
        {"user*": 2, "assistant": 2, "tool": 1},
        1,
        (4, 5678, 10491, 5),
    ),
    # The client's own note about a limit reports zeros; it is no response.
    ("happy/rate-limit.jsonl", {"user*": 1, "note": 1}, 0, (0, 0, 0, 0)),
    # Eight lines of a subagent: five cost money, none is part of this conversation.
    (
        "happy/task_non_sdk.jsonl",
        {"user*": 1, "assistant": 3, "unknown": 3, "usage": 5, "tool": 1},
        5,
        (25, 28106, 78093, 1163),
    ),
    (
        "happy/task_sdk.jsonl",
        {"summary": 2, "user*": 2, "assistant": 5, "tool": 1},
        3,
        (14, 46616, 22177, 377),
    ),
    (
        "simonw-transcripts/sample_session.json",
        {"user*": 5, "assistant": 15, "tool": 12, "summary": 1},
        0,
        (0, 0, 0, 0),
    ),
    (
        "simonw-transcripts/sample_session.jsonl",
        {"summary": 1, "user*": 2, "assistant": 3, "tool": 2},
        0,
        (0, 0, 0, 0),
    ),
]


@pytest.mark.parametrize(
    ("name", "counted", "responses", "tokens"), RECORDINGS, ids=[r[0] for r in RECORDINGS]
)
def test_a_recording_gives_the_hand_counted_totals(
    recorded: Recorded, name: str, counted: dict[str, int], responses: int, tokens: tuple[int, int, int, int]
) -> None:
    parsed = parse_events("claude-code", recorded(f"claude-code/{name}"))
    assert kinds(parsed) == counted
    assert len({event.response_id for event in parsed if event.usage}) == responses
    usage = spent(parsed)
    assert (
        usage.input_tokens,
        usage.cache_write_5m_tokens,
        usage.cache_read_tokens,
        usage.output_tokens,
    ) == tokens


def test_the_events_inside_a_clients_log_parse_too(recorded: Recorded) -> None:
    events = recorded("claude-code/happy/duplicate-assistant-response-2.jsonl")
    parsed = parse_events("claude-code", events)
    assert len(events) == 42
    assert {event.index for event in parsed} == set(range(len(events)))
    assert "usage" not in kinds(parsed), "its results carry no usage"


def assistant_line(text: str, output: int, **extra: Any) -> dict[str, Any]:
    usage = {"input_tokens": 4, "cache_read_input_tokens": 100, "output_tokens": output}
    message = {
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "usage": usage,
    }
    return {"type": "assistant", "uuid": f"u-{text}", "message": message, **extra}


def test_lines_of_one_response_share_its_id_so_that_the_last_usage_wins() -> None:
    parsed = parse(assistant_line("one", 3), assistant_line("two", 165))
    assert [event.response_id for event in parsed] == ["msg_1", "msg_1"]
    assert [event.event_id for event in parsed] == ["u-one", "u-two"]
    assert spent(parsed) == TokenUsage(input_tokens=4, cache_read_tokens=100, output_tokens=165)


def test_a_subagents_line_costs_money_but_says_nothing_here() -> None:
    for mark in ({"isSidechain": True}, {"parent_tool_use_id": "toolu_1"}):
        (event,) = parse(assistant_line("inner", 7, **mark))
        assert (event.kind, event.message, event.usage_scope) == ("usage", None, "subagent")


def test_tool_results_become_tool_messages_and_the_rest_one_user_message() -> None:
    content = [
        {"type": "tool_result", "tool_use_id": "a", "content": "ok"},
        {"type": "text", "text": "and now this"},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": [{"type": "text", "text": "bad"}],
            "is_error": True,
        },
    ]
    parsed = parse({"type": "user", "uuid": "u1", "message": {"role": "user", "content": content}})
    assert [event.message for event in parsed] == [
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        {"role": "tool", "tool_call_id": "b", "content": "bad", "is_error": True},
        {"role": "user", "content": "and now this"},
    ]
    assert [event.is_human for event in parsed] == [False, False, True]
    assert [event.event_id for event in parsed] == ["u1", "u1#1", "u1#2"], (
        "unique, and stable when sent again"
    )


def test_tool_use_becomes_a_tool_call_with_its_arguments_in_order() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "/é", "content": "x"}}
    (event,) = parse({"type": "assistant", "message": {"id": "m", "content": [block]}})
    arguments = '{"file_path": "/é", "content": "x"}'
    call = {"id": "t1", "type": "function", "function": {"name": "Write", "arguments": arguments}}
    assert event.message == {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "block"}], "block"),
        (["bare"], "bare"),
    ],
)
def test_human_input_is_read_from_every_spelling(content: Any, text: str) -> None:
    (event,) = parse({"type": "user", "message": {"role": "user", "content": content}})
    assert event.is_human and event.message == {"role": "user", "content": text}


def test_what_the_client_adds_is_not_human_input() -> None:
    (event,) = parse({"type": "user", "isMeta": True, "message": {"role": "user", "content": "Caveat"}})
    assert event.kind == "message" and not event.is_human


def test_an_agents_own_compaction_is_a_summary_that_starts_an_epoch() -> None:
    boundary, summary = parse(
        {"type": "system", "subtype": "compact_boundary", "uuid": "b"},
        {
            "type": "user",
            "uuid": "s",
            "isCompactSummary": True,
            "message": {"role": "user", "content": "So far"},
        },
    )
    assert (boundary.kind, boundary.starts_epoch, boundary.message) == ("summary", True, None)
    assert (summary.kind, summary.starts_epoch, summary.text) == ("summary", True, "So far")
    assert summary.message == {"role": "user", "content": "So far"} and not summary.is_human


def test_a_title_line_is_a_summary_that_folds_nothing() -> None:
    (event,) = parse({"type": "summary", "summary": "A chat", "leafUuid": "x"})
    assert (event.kind, event.text, event.starts_epoch) == ("summary", "A chat", False)


def test_a_malformed_line_does_not_take_the_id_of_the_good_one_that_follows() -> None:
    bad, good = parse(
        {"type": "user", "uuid": "e11", "message": "error"},
        {"type": "user", "uuid": "e11", "message": {"role": "user", "content": "hello"}},
    )
    assert (bad.kind, bad.event_id, good.event_id) == ("unknown", "e11#unknown", "e11")


@pytest.mark.parametrize(
    "event",
    [
        "massive error",
        42,
        [1],
        None,
        {},
        {"type": None},
        {"type": ["user"]},
        {"type": "user"},
        {"type": "user", "message": 7},
        {"type": "assistant", "message": {"role": "assistant"}},
        {"type": "queue-operation", "operation": "enqueue"},
        {"type": "system", "subtype": "init", "tools": []},
        {"type": "summary", "summary": 5},
    ],
)
def test_anything_else_is_kept_and_ignored(event: Any) -> None:
    (parsed,) = parse(event)
    assert parsed.kind == "unknown" and parsed.usage is None and parsed.message is None
    assert parsed.payload == (event if isinstance(event, dict) else {"value": event})


def test_a_wrong_count_is_refused_with_its_place() -> None:
    line = assistant_line("x", 1)
    line["message"]["usage"]["input_tokens"] = True
    with pytest.raises(UsageInvalid) as refused:
        parse({"type": "system"}, line)
    assert refused.value.pointer == "/events/1/message/usage/input_tokens"


def test_an_id_that_cannot_be_stored_is_not_taken() -> None:
    (event,) = parse({"type": "user", "uuid": "a\x00b", "message": {"role": "user", "content": "\x00\ud800"}})
    assert event.event_id is None
    assert event.message == {"role": "user", "content": "\x00\ud800"}, "content is kept as it came"
