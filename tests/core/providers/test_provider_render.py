"""One conversation, spelled for OpenAI, Anthropic and people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.errors import FormatUnknown
from providers.formats import parse_events
from providers.render import OPENING, render, validate

Message = dict[str, Any]


def call(call_id: str, arguments: str = "{}", name: str = "ls") -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*call_ids: str, content: Any = None) -> Message:
    return {"role": "assistant", "content": content, "tool_calls": [call(call_id) for call_id in call_ids]}


def result(call_id: str, content: Any = "ok", **extra: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **extra}


def says(role: str, content: Any) -> Message:
    return {"role": role, "content": content}


def test_openai_keeps_the_system_prompt_apart_and_the_messages_as_they_are() -> None:
    messages = [
        says("user", "hi"),
        asks("a", "b", content="look"),
        result("a"),
        result("b"),
        says("assistant", "done"),
    ]
    rendered = render("Be kind.", messages, "openai")
    assert rendered.system == "Be kind."
    assert rendered.messages == messages
    assert validate(rendered.messages, "openai") == []


def test_anthropic_gathers_results_into_one_user_message() -> None:
    messages = [
        says("user", "hi"),
        asks("a", "b", content="look"),
        result("a"),
        result("b", "bad", is_error=True),
        says("user", "and?"),
    ]
    rendered = render("Be kind.", messages, "anthropic")
    assert rendered.messages == [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "tool_use", "id": "a", "name": "ls", "input": {}},
                {"type": "tool_use", "id": "b", "name": "ls", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "ok"},
                {"type": "tool_result", "tool_use_id": "b", "content": "bad", "is_error": True},
                {"type": "text", "text": "and?"},
            ],
        },
    ]
    assert validate(rendered.messages, "anthropic") == []


def test_anthropic_takes_system_messages_out_of_the_conversation() -> None:
    messages = [says("system", "Policy"), says("user", "hi"), says("system", "Later"), says("user", "you")]
    rendered = render("Be kind.", messages, "anthropic")
    assert rendered.system == "Be kind.\n\nPolicy\n\nLater"
    assert rendered.messages == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "you"}]}
    ]


def test_anthropic_starts_with_a_user() -> None:
    rendered = render("", [says("assistant", "welcome")], "anthropic")
    assert rendered.messages == [says("user", OPENING), says("assistant", "welcome")]
    assert rendered.system is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"b": 1, "a": [2]}', {"b": 1, "a": [2]}),
        ("", {}),
        ("not json", {"_raw_arguments": "not json"}),
        ("[1]", {"_raw_arguments": "[1]"}),
        ('{"x": NaN}', {"_raw_arguments": '{"x": NaN}'}),
        ('{"x": 1e999}', {"_raw_arguments": '{"x": 1e999}'}),
        ("[" * 100_000, {"_raw_arguments": "[" * 100_000}),
        ("9" * 5_000, {"_raw_arguments": "9" * 5_000}),
    ],
)
def test_anthropic_arguments_are_an_object_and_never_lost(arguments: str, expected: Message) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [call("a", arguments)]}
    rendered = render("", [says("user", "x"), message, result("a")], "anthropic")
    block = rendered.messages[1]["content"][0]
    assert block["input"] == expected
    (back,) = parse_events("anthropic", [rendered.messages[1]])
    assert back.message is not None
    again = back.message["tool_calls"][0]["function"]["arguments"]
    assert again == arguments or json.loads(again) == json.loads(arguments or "{}")


def test_ids_that_a_provider_refuses_are_renamed_with_their_results() -> None:
    odd = ["functions.ls:0", "functions-ls:0", "", "x" * 80]
    messages = [says("user", "x"), asks(*odd), *(result(call_id) for call_id in odd)]
    for format in ("openai", "anthropic"):
        assert validate(render("", messages, format).messages, format) == []


def test_ids_that_start_again_in_every_turn_stay_apart() -> None:
    turn = [asks("0", "1"), result("0"), result("1")]
    messages = [says("user", "x"), *turn, *turn, says("user", "y")]
    rendered = render("", messages, "anthropic").messages
    assert validate(rendered, "anthropic") == []
    assert [block["id"] for block in rendered[3]["content"]] == ["0_2", "1_2"]


def test_a_turn_reported_in_parts_becomes_one() -> None:
    """Claude Code writes one response as several lines; its parallel calls must stand together."""
    messages = [says("user", "x"), says("assistant", "both"), asks("a"), asks("b"), result("a"), result("b")]
    for format in ("openai", "anthropic"):
        assert validate(render("", messages, format).messages, format) == []


def test_what_a_user_says_during_a_call_follows_its_result() -> None:
    messages = [says("user", "x"), asks("a"), says("user", "hurry"), result("a"), says("assistant", "ok")]
    openai = render("", messages, "openai").messages
    assert [message["role"] for message in openai] == ["user", "assistant", "tool", "user", "assistant"]
    anthropic = render("", messages, "anthropic").messages
    assert validate(openai, "openai") == validate(anthropic, "anthropic") == []


PNG = "data:image/png;base64,iVBORw0KGgo="
IMAGE_PAIRS = [
    (
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    ),
    (
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    ),
]


@pytest.mark.parametrize(("openai_block", "anthropic_block"), IMAGE_PAIRS)
def test_images_go_both_ways(openai_block: Message, anthropic_block: Message) -> None:
    text = {"type": "text", "text": "look"}
    rendered = render("", [says("user", [text, openai_block])], "anthropic").messages
    assert rendered == [says("user", [text, anthropic_block])]
    (parsed,) = parse_events("anthropic", rendered)
    assert parsed.message == says("user", [text, openai_block])
    assert render("", [says("user", [text, anthropic_block])], "openai").messages == [parsed.message]


def test_documents_go_both_ways() -> None:
    file = {
        "type": "file",
        "file": {"filename": "document", "file_data": "data:application/pdf;base64,JVBERi0="},
    }
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    assert render("", [says("user", [file])], "anthropic").messages[0]["content"] == [
        {"type": "document", "source": source}
    ]
    assert render("", [says("user", [{"type": "document", "source": source}])], "openai").messages[0][
        "content"
    ] == [file]


def test_what_a_format_cannot_say_leaves_a_mark() -> None:
    image = {"type": "image_url", "image_url": {"url": PNG}}
    messages = [says("user", [{"type": "video_url", "video_url": {}}]), asks("a"), result("a", [image])]
    assert "[video_url left out]" in str(render("", messages, "anthropic").messages)
    openai = render("", messages, "openai").messages
    assert openai[2]["content"] == "[image_url left out]"
    assert validate(openai, "openai") == []


def test_thoughts_stay_with_the_model_that_signed_them() -> None:
    signed = {"type": "thinking", "thinking": "hm", "signature": "s"}
    unsigned = {"type": "thinking", "thinking": "hm"}
    messages = [says("user", "x"), says("assistant", [signed, unsigned]), says("assistant", "y")]
    assert render("", messages, "anthropic").messages[1]["content"] == [signed, {"type": "text", "text": "y"}]
    assert render("", messages, "openai").messages == [says("user", "x"), says("assistant", "y")]


def test_blank_text_is_not_sent_to_anthropic() -> None:
    messages = [
        says("user", "x"),
        says("assistant", " \n"),
        says("user", "y"),
        asks("a", content=""),
        result("a", ""),
    ]
    rendered = render("", messages, "anthropic").messages
    assert validate(rendered, "anthropic") == []
    assert rendered[0]["content"] == [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
    assert rendered[2]["content"] == [{"type": "tool_result", "tool_use_id": "a"}]


def test_plain_is_roles_and_texts() -> None:
    messages = [
        says("user", [{"type": "text", "text": "x"}, {"type": "image_url"}]),
        asks("a", content="y"),
        result("a"),
    ]
    rendered = render("Be kind.", messages, "plain")
    assert rendered.messages == [
        says("user", "x\n[image_url left out]"),
        says("assistant", "y\n[calls ls with {}]"),
        says("tool", "ok"),
    ]
    assert validate(rendered.messages, "plain") == []


def test_it_refuses_an_unknown_format() -> None:
    with pytest.raises(FormatUnknown):
        render("", [], "gemini")


INVALID = [
    ("openai", [], "no messages"),
    ("openai", [says("wizard", "x")], "role"),
    ("openai", [says("user", None)], "no content"),
    ("openai", [says("user", [])], "empty list"),
    ("openai", [says("assistant", None)], "no content"),
    ("openai", [{**says("user", "x"), "is_error": True}], "unknown fields"),
    ("openai", [asks("a")], "no results"),
    ("openai", [asks("a"), says("user", "x"), result("a")], "before the results"),
    ("openai", [asks("a", "b"), result("a"), says("user", "x")], "before the results"),
    ("openai", [result("a")], "did not call"),
    ("openai", [asks("a"), result("a"), result("a")], "did not call"),
    ("openai", [asks("a", "a"), result("a")], "twice"),
    ("openai", [asks("x" * 41), result("x" * 41)], "id"),
    ("openai", [asks("a"), result("a", [{"type": "image_url"}])], "type 'image_url'"),
    ("anthropic", [says("assistant", "x")], "must be the user's"),
    ("anthropic", [says("user", "x"), says("user", "y")], "must be the assistant's"),
    ("anthropic", [says("user", " ")], "blank"),
    ("anthropic", [says("user", [])], "no blocks"),
    ("anthropic", [says("user", [{"type": "image_url"}])], "type 'image_url'"),
    ("anthropic", [result("a")], "must be the user's"),
    (
        "anthropic",
        [says("user", "x"), says("assistant", [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}])],
        "no results",
    ),
    (
        "anthropic",
        [
            says("user", "x"),
            says("assistant", [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}]),
            says("user", "y"),
        ],
        "the calls before it were",
    ),
    (
        "anthropic",
        [
            says("user", "x"),
            says("assistant", [{"type": "tool_use", "id": "a", "name": "ls", "input": "{}"}]),
            says("user", [{"type": "text", "text": "y"}, {"type": "tool_result", "tool_use_id": "a"}]),
        ],
        "after other blocks",
    ),
    ("anthropic", [says("user", [{"type": "tool_result", "tool_use_id": "a"}])], "the calls before it were"),
    ("plain", [asks("a")], "not a role with a text"),
]


@pytest.mark.parametrize(("format", "messages", "problem"), INVALID)
def test_the_checker_finds_what_a_provider_refuses(
    format: str, messages: list[Message], problem: str
) -> None:
    assert problem in " | ".join(validate(messages, format))


def test_open_calls_at_the_end_may_be_allowed() -> None:
    messages = [says("user", "x"), asks("a", "b")]
    for format in ("openai", "anthropic"):
        rendered = render("", messages, format).messages
        assert validate(rendered, format) != []
        assert validate(rendered, format, open_calls_allowed=True) == []


texts = st.sampled_from(["", " ", "hello", "\x00", "\ud800", "中文 🎉", '{"a": 1}'])
contents = st.one_of(
    texts,
    st.lists(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, texts),
            st.sampled_from([{"type": "image_url", "image_url": {"url": PNG}}, {"type": "odd"}]),
        ),
        max_size=3,
    ),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Well-paired histories: any order of speakers, tool loops, up to 12 parallel calls, ids used again."""
    messages: list[Message] = []
    for _ in range(draw(st.integers(1, 8))):
        role = draw(st.sampled_from(["user", "assistant", "calls", "system"]))
        if role == "calls":
            ids = draw(
                st.lists(st.sampled_from([f"c.{n}" for n in range(14)]), min_size=1, max_size=12, unique=True)
            )
            messages.append(asks(*ids, content=draw(st.one_of(st.none(), contents))))
            messages += [result(call_id, draw(contents)) for call_id in draw(st.permutations(ids))]
        else:
            messages.append(says(role, draw(contents)))
    return messages


@settings(max_examples=150, deadline=None)
@given(messages=conversations())
def test_every_well_paired_history_is_valid_everywhere(messages: list[Message]) -> None:
    for format in ("openai", "anthropic", "plain"):
        rendered = render("system", messages, format).messages
        problems = validate(rendered, format)
        assert problems == [] or (rendered == [] and problems == ["there are no messages"]), problems


def recorded_requests(shared_data: Path) -> list[list[Message]]:
    lines = (shared_data / "provider-usage" / "usage_samples.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    return [
        s["request"]["messages"]
        for s in samples
        if s["provider"] == "anthropic" and "messages" in s["request"]
    ]


def content_of(messages: list[Message]) -> list[Message]:
    """Every block with its role; a text is a block, a result's single text block is a text."""
    blocks = []
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            inner = block.get("content")
            if block["type"] == "tool_result" and isinstance(inner, list) and len(inner) == 1:
                block = {**block, "content": inner[0].get("text", inner)}
            without_false = {key: value for key, value in block.items() if value is not False}
            blocks.append({"role": message["role"], **without_false})
    return blocks


def test_anthropics_recorded_requests_come_back_with_all_their_content(shared_data: Path) -> None:
    """Anthropic to canonical to Anthropic; what is compared is every block, not its cache marks."""
    compared = 0
    for request in recorded_requests(shared_data):
        if any(message["role"] == "system" or "cache_control" in json.dumps(message) for message in request):
            continue
        canonical = [event.message for event in parse_events("anthropic", request) if event.message]
        again = render("", canonical, "anthropic").messages
        assert validate(again, "anthropic") == []
        assert content_of(again) == content_of(request)
        compared += 1
    assert compared > 30


def test_recorded_tool_runs_are_valid_for_every_provider(shared_data: Path) -> None:
    for source in ("tau-bench", "swe-agent"):
        for line in (shared_data / source / "sessions.jsonl").read_text(encoding="utf-8").splitlines():
            messages = json.loads(line)["messages"]
            for format in ("openai", "anthropic", "plain"):
                rendered = render("", messages, format).messages
                assert validate(rendered, format, open_calls_allowed=True) == []


def test_the_vendors_own_types_accept_recorded_runs(shared_data: Path) -> None:
    """The messages of 100 tool runs against the types that OpenAI's and Anthropic's own clients ship."""
    from anthropic.types import MessageParam
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic import TypeAdapter

    types: dict[str, TypeAdapter[Any]] = {
        "openai": TypeAdapter(ChatCompletionMessageParam),
        "anthropic": TypeAdapter(MessageParam),
    }
    for line in (shared_data / "tau-bench" / "sessions.jsonl").read_text(encoding="utf-8").splitlines():
        for format, adapter in types.items():
            for message in render("", json.loads(line)["messages"], format).messages:
                accepted = adapter.validate_python(message)
                if not isinstance(accepted["content"], str | None):
                    list(accepted["content"])  # blocks are checked as they are read
