"""POST /tokens/count: offline, for any text, honest about its certainty."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.conf import settings
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.api.client import Api

URL = "/tokens/count"


def test_it_counts_a_text_with_the_models_own_vocabulary(api: Api) -> None:
    body = api.post(URL, {"model": "gpt-4", "text": "hello world"}).json()
    assert (body["tokens"], body["low"], body["high"]) == (2, 2, 2)
    assert (body["source"], body["tokenizer"]) == ("counted", "cl100k_base")


def test_a_vendor_without_a_public_vocabulary_is_estimated_with_bounds(api: Api) -> None:
    body = api.post(URL, {"model": "claude-3-opus", "text": "hello world " * 50}).json()
    assert body["source"] == "estimated"
    assert body["low"] < body["tokens"] < body["high"]


def test_special_tokens_are_ordinary_text(api: Api) -> None:
    assert api.post(URL, {"model": "gpt-4", "text": "<|endoftext|>"}).json()["tokens"] > 1


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "a\udfff\x00b", "é" * 1000])
def test_any_text_counts(api: Api, text: str) -> None:
    answer = api.post(URL, {"model": "gpt-4", "text": text})
    assert answer.status_code == 200
    assert (answer.json()["tokens"] == 0) == (text == "")


@pytest.mark.parametrize("text", ["a", " ", "^", "xq", "\n"])
def test_the_longest_text_counts_within_a_second(api: Api, text: str) -> None:
    longest = (text * settings.MAX_MESSAGE_CHARACTERS)[: settings.MAX_MESSAGE_CHARACTERS]
    api.post(URL, {"model": "gpt-4o", "text": "load the vocabulary"})
    started = time.process_time()
    assert api.post(URL, {"model": "gpt-4o", "text": longest}).status_code == 200
    assert time.process_time() - started < 1


def test_one_character_more_than_the_longest_is_too_large(api: Api) -> None:
    answer = api.post(URL, {"model": "gpt-4", "text": "a" * (settings.MAX_MESSAGE_CHARACTERS + 1)})
    assert answer.status_code == 413
    assert answer.json()["code"] == "message_too_long"


def test_messages_count_with_their_frames(api: Api) -> None:
    messages = [{"role": "user", "content": "hello world"}]
    body = api.post(URL, {"model": "gpt-4", "messages": messages}).json()
    assert body["tokens"] == 2 + 4 + 3
    assert body["parts"] == {"messages": 6, "reply": 3, "tools": 0}
    assert body["source"] == "counted"


def test_tools_are_only_estimated(api: Api) -> None:
    tool = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
    body = api.post(
        URL, {"model": "gpt-4", "messages": [{"role": "user", "content": "hi"}], "tools": [tool]}
    ).json()
    assert body["source"] == "estimated"
    assert body["low"] < body["tokens"] < body["high"]


@pytest.mark.parametrize(
    "body",
    [
        {"model": "gpt-4"},
        {"model": "gpt-4", "text": "a", "messages": []},
        {"model": "gpt-4", "text": "a", "tools": []},
        {"model": "gpt-4", "text": 5},
        {"model": "gpt-4", "text": True},
        {"model": "gpt-4", "messages": {}},
        {"model": "gpt-4", "messages": ["hi"]},
        {"model": "gpt-4", "tools": [1]},
        {"text": "a"},
        {"model": "", "text": "a"},
        {"model": "gpt-4\x00", "text": "a"},
    ],
)
def test_it_refuses_other_shapes(api: Api, body: dict[str, Any]) -> None:
    assert api.post(URL, body).status_code == 422


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MESSAGE_KEYS = ("role", "content", "name", "tool_calls", "function", "arguments", "type", "text", "image_url")
TOOL_KEYS = ("parameters", "properties", "enum", "required", "items", "input_schema", "description", "detail")
KEYS = st.sampled_from(MESSAGE_KEYS + TOOL_KEYS)
ODD = st.recursive(
    JSON, lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=3), max_leaves=12
)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(st.dictionaries(KEYS, ODD, max_size=4), max_size=3))
def test_no_shape_of_messages_or_tools_breaks_it(api: Api, messages: list[dict[str, Any]]) -> None:
    for field in ("messages", "tools"):
        answer = api.post(URL, {"model": "gpt-4", field: messages})
        assert answer.status_code in (200, 422), answer.content
