"""SPEC T1: an agent's stream events go in as they are, and a result's counters become the used tokens."""

from __future__ import annotations

from typing import Any

import pytest

from providers.formats import parse_events


def used_after(*events: dict[str, Any]) -> int | None:
    """What the context holds by the stream: the prompt of the latest result."""
    used = None
    for event in parse_events("claude-code", list(events)):
        if event.usage_scope == "result" and event.usage is not None:
            used = event.usage.prompt_tokens
    return used


def test_t1_a_results_three_counters_are_the_used_tokens() -> None:
    usage = {
        "input_tokens": 1000,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 30,
        "output_tokens": 9999,
    }
    assert used_after({"type": "result", "usage": usage}) == 1230


# top level, usage, used
BOTH_PLACES: list[tuple[dict[str, int], dict[str, Any] | None, int]] = [
    ({"input_tokens": 5}, None, 5),  # the top level alone
    ({"input_tokens": 5}, {"input_tokens": 7}, 7),  # usage wins, never both
    ({"input_tokens": 5}, {"cache_read_input_tokens": 7}, 12),  # per counter
    ({"cache_creation_input_tokens": 1, "input_tokens": 2}, {"input_tokens": 4}, 5),
    ({"input_tokens": 5}, {"input_tokens": 0}, 0),  # a zero is a value
    ({"cache_read_input_tokens": 5}, {}, 5),  # a missing counter is 0
    ({"cache_creation_input_tokens": 9}, {"cache_creation": {"ephemeral_1h_input_tokens": 4}}, 4),
]


@pytest.mark.parametrize(("top", "usage", "used"), BOTH_PLACES)
def test_t1_per_counter_usage_wins_over_the_top_level(top: dict[str, int], usage: Any, used: int) -> None:
    assert used_after({"type": "result", **top, "usage": usage}) == used


def test_t1_the_latest_result_replaces() -> None:
    first, second = ({"type": "result", "usage": {"input_tokens": tokens}} for tokens in (150_000, 40_000))
    assert used_after(first, second) == 40_000


def test_t1_a_result_without_usage_changes_nothing() -> None:
    reported = {"type": "result", "usage": {"input_tokens": 150_000}}
    assert used_after(reported, {"type": "result", "subtype": "success", "total_cost_usd": 0.03}) == 150_000


def test_t1_the_four_event_types_go_in_as_they_are() -> None:
    stream: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"]},
        {"type": "user", "message": {"role": "user", "content": "fix it"}},
        {
            "type": "assistant",
            "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "ok"}]},
        },
        {"type": "result", "usage": {"input_tokens": 1}},
    ]
    parsed = parse_events("claude-code", stream)
    assert [event.kind for event in parsed] == ["unknown", "message", "message", "usage"]
    assert [event.payload for event in parsed] == stream


def test_t1_unknown_events_are_kept_and_ignored() -> None:
    odd = [{"type": "hologram", "x": 1}, {"nothing": True}]
    parsed = parse_events("claude-code", odd)
    assert [(event.kind, event.payload) for event in parsed] == [("unknown", event) for event in odd]
    assert used_after({"type": "result", "usage": {"input_tokens": 3}}, *odd) == 3
