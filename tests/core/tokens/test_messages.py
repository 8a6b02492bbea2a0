"""Messages: texts plus frames, tools and images by rule, for any content an agent may send."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgets.tokens import counter_for, message_tokens, reply_tokens, tools_tokens
from budgets.tokens.rules import ANTHROPIC, GENERIC, OPENAI, RULES

O200K = counter_for("o200k_base")
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather in a given location",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["location"],
        },
    },
}


def test_a_chat_costs_what_openai_reports() -> None:
    # The worked example of OpenAI's cookbook: 129 prompt tokens by cl100k_base, 124 by o200k_base.
    system = (
        "You are a helpful, pattern-following assistant that translates corporate jargon into plain English."
    )
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": system},
        {
            "role": "system",
            "name": "example_user",
            "content": "New synergies will help drive top-line growth.",
        },
        {
            "role": "system",
            "name": "example_assistant",
            "content": "Things working well together will increase revenue.",
        },
        {
            "role": "system",
            "name": "example_user",
            "content": "Let's circle back when we have more bandwidth to touch base on opportunities "
            "for increased leverage.",
        },
        {
            "role": "system",
            "name": "example_assistant",
            "content": "Let's talk later when we're less busy about how to do better.",
        },
        {
            "role": "user",
            "content": "This late pivot means we don't have time to boil the ocean "
            "for the client deliverable.",
        },
    ]
    totals = {
        name: sum(message_tokens(counter_for(name), message) for message in messages)
        + reply_tokens(counter_for(name))
        for name in ("cl100k_base", "o200k_base")
    }
    assert totals == {"cl100k_base": 129, "o200k_base": 124}


def test_content_blocks_cost_as_much_as_the_same_text() -> None:
    text, blocks = (
        "hello there",
        [{"type": "text", "text": "hello there", "cache_control": {"type": "ephemeral"}}],
    )
    plain, framed = ({"role": "user", "content": content} for content in (text, blocks))
    assert message_tokens(O200K, plain) == message_tokens(O200K, framed)


def test_a_tool_call_costs_its_name_its_arguments_and_a_frame() -> None:
    arguments = '{"location":"Paris","unit":"celsius"}'
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    with_call = {"role": "assistant", "content": None, "tool_calls": [call]}
    expected = (
        OPENAI.message.tokens + OPENAI.tool_call.tokens + O200K.count("get_weather") + O200K.count(arguments)
    )
    assert message_tokens(O200K, with_call) == expected


def test_a_tool_result_costs_its_frame() -> None:
    result = {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}
    assert message_tokens(O200K, result) == OPENAI.message.tokens + OPENAI.tool_result.tokens + 2


def test_tools_are_counted_as_openai_shows_them() -> None:
    # Recorded requests show the namespace plus 2 to 8 tokens; the JSON would be 40 more.
    shown = tools_tokens(O200K, [WEATHER])
    assert shown < O200K.count(json.dumps(WEATHER))
    assert 60 < shown < 80


def test_tools_of_other_vendors_are_counted_as_their_json() -> None:
    claude = counter_for("claude")
    tool = {"name": "get_weather", "input_schema": WEATHER["function"]["parameters"]}  # type: ignore[index]
    text = json.dumps(tool, separators=(",", ":"))
    assert tools_tokens(claude, [tool]) == 600 + 8 + claude.count(text)


@pytest.mark.parametrize("name", ["o200k_base", "claude", "generic", "words", "lines"])
def test_no_tools_cost_nothing(name: str) -> None:
    assert tools_tokens(counter_for(name), []) == 0


def test_a_second_look_at_the_same_tools_does_not_count_again() -> None:
    class Counting:
        name, source, calls = "o200k_base", "counted", 0

        def count(self, text: str) -> int:
            self.calls += 1
            return O200K.count(text)

    counter: Any = Counting()
    assert (
        tools_tokens(counter, [WEATHER]) == tools_tokens(counter, [WEATHER]) == tools_tokens(O200K, [WEATHER])
    )
    assert counter.calls == 1


@pytest.mark.parametrize("prefix", ["", "data:application/pdf;base64,"])
def test_an_attachment_is_estimated_by_size_not_read_as_text(prefix: str) -> None:
    payload = prefix + "JVBERi0x" * 12_800
    pdf = {"type": "file", "file": {"filename": "a.pdf", "file_data": payload}}
    tokens = message_tokens(O200K, {"role": "user", "content": [pdf]})
    assert 4_000 < tokens < 4_100  # 100 kilobytes at 40 tokens each


# Chinese has no spaces, and JSON may be one long line: neither is an attachment.
@pytest.mark.parametrize("text", ["step by step " * 500, "一步一步来" * 500, '{"a":[1,2]}' * 500])
def test_a_long_text_in_an_unknown_block_is_counted_as_text(text: str) -> None:
    thought = {"type": "thinking", "thinking": text}
    assert message_tokens(O200K, {"role": "assistant", "content": [thought]}) > O200K.count(text)


ODD_CONTENT: list[Any] = [
    None,
    "",
    [],
    {},
    [None],
    ["plain string"],
    [{"type": "text"}],
    [{"type": []}],
    [{"type": "text", "text": None}],
    [{"type": "image_url"}],
    [{"type": "image_url", "image_url": "data:image/png;base64,%%%"}],
    [{"type": "image", "source": None}],
    [{"type": "tool_reference", "tool_name": "x"}],
    [[["nested"]]],
    7,
    True,
    "\ud800\0",
    [{"type": "text", "text": "\udfff"}, {"type": "odd", "x": "\ud800"}],
]


@pytest.mark.parametrize("content", ODD_CONTENT)
@pytest.mark.parametrize("name", ["o200k_base", "claude", "generic", "words", "lines"])
def test_odd_content_is_counted_not_refused(name: str, content: object) -> None:
    assert message_tokens(counter_for(name), {"role": "user", "content": content}) >= 0


@pytest.mark.parametrize(
    "calls", [None, [], {}, ["x"], [{}], [{"function": None}], [{"function": {"arguments": {"a": 1}}}]]
)
def test_odd_tool_calls_are_counted_not_refused(calls: object) -> None:
    assert (
        message_tokens(O200K, {"role": "assistant", "content": None, "tool_calls": calls})
        >= OPENAI.message.tokens
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "text", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(json_values, json_values)
@settings(max_examples=80, deadline=None)
def test_any_json_is_a_countable_message(content: object, calls: object) -> None:
    message = {"role": "user", "content": content, "tool_calls": calls, "name": content}
    assert message_tokens(O200K, message) >= OPENAI.message.tokens


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["function", "name", "parameters", "type"]), json_values),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=80, deadline=None)
def test_any_json_is_a_countable_tool(tools: list[dict[str, Any]]) -> None:
    assert tools_tokens(O200K, tools) > 0
    assert tools_tokens(counter_for("claude"), tools) > 0


def test_every_rule_says_how_sure_it_is_and_where_it_comes_from() -> None:
    for rules in {OPENAI, ANTHROPIC, GENERIC, *RULES.values()}:
        for name in ("message", "name", "tool_call", "tool_result", "reply", "tool_prompt", "tool"):
            rule = getattr(rules, name)
            assert rule.status in ("documented", "approximate")
            assert rule.source
