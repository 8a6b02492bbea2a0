"""What a request says about itself, in three protocols."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.conversations import derived_id, event_ids, fingerprint, system_head
from gateway.core.headers import caller_key, to_client, to_upstream
from gateway.core.protocols import route_of
from gateway.core.requests import read_chat, read_messages, read_responses

HI = {"role": "user", "content": "Hi"}
UUID = "2f1e8c1a-93f0-4d2c-8a52-6a7d8a1f0c11"


@pytest.mark.parametrize(
    ("read", "body", "max_output", "choices"),
    [
        (read_chat, {"max_tokens": 5}, 5, 1),
        # OpenAI's newer name wins.
        (read_chat, {"max_tokens": 5, "max_completion_tokens": 7, "n": 3}, 7, 3),
        (read_chat, {}, None, 1),
        (read_responses, {"max_output_tokens": 9}, 9, 1),
        (read_messages, {"max_tokens": 11}, 11, 1),
        # What is no number of tokens is left to the vendor to refuse.
        (read_messages, {"max_tokens": "11"}, None, 1),
        (read_messages, {"max_tokens": True}, None, 1),
        (read_chat, {"max_tokens": -1, "n": 0}, None, 1),
    ],
)
def test_it_reads_how_much_may_be_said(read: Any, body: Any, max_output: int | None, choices: int) -> None:
    request = read({"model": "m", **body})
    assert (request.max_output, request.choices) == (max_output, choices)


@pytest.mark.parametrize("body", [{}, {"model": 7}, {"messages": "no", "input": 3, "tools": {}}])
def test_a_malformed_body_is_read_as_far_as_it_goes(body: dict[str, Any]) -> None:
    for read in (read_chat, read_responses, read_messages):
        assert read(body).tools == ()


@pytest.mark.parametrize(
    ("marks", "lifetime"),
    [([], ""), ([{"type": "ephemeral"}], "5m"), ([{"type": "ephemeral", "ttl": "1h"}, {"ttl": "5m"}], "1h")],
)
def test_it_finds_the_longest_lifetime_asked_of_the_cache(marks: list[Any], lifetime: str) -> None:
    blocks = [{"type": "text", "text": "x", "cache_control": mark} for mark in marks]
    assert read_messages({"model": "m", "system": blocks}).cache_lifetime == lifetime


def test_conversations_are_told_apart_by_their_beginning_and_their_key() -> None:
    def session(key: str = "k", vendor: str = "openai", **body: Any) -> str:
        return derived_id(key_id=key, vendor=vendor, request=read_chat({"model": "m", **body}))

    system = {"role": "system", "content": "You are terse."}
    first = session(messages=[system, HI])
    assert first == session(messages=[system, HI, {"role": "assistant", "content": "x"}, HI])
    others = [
        session(messages=[HI]),
        session(messages=[system, {**HI, "content": "Ho"}]),
        session(key="other", messages=[system, HI]),
        session(vendor="anthropic", messages=[system, HI]),
    ]
    assert len({first, *others}) == 5


@pytest.mark.parametrize(
    "user_id", [f"user_ab_account_cd_session_{UUID}", f'{{"device_id":"x","session_id":"{UUID}"}}']
)
def test_claude_codes_own_conversation_id_outlives_its_compaction(user_id: str) -> None:
    requests = [
        read_messages({"model": "m", "messages": [{**HI, "content": text}], "metadata": {"user_id": user_id}})
        for text in ("Hi", "Summary of what came before")
    ]
    assert len({derived_id(key_id="k", vendor="anthropic", request=request) for request in requests}) == 1
    assert requests[0].conversation == UUID


def test_only_a_conversations_own_cache_key_names_it() -> None:
    assert read_responses({"prompt_cache_key": UUID}).conversation == UUID
    assert read_responses({"prompt_cache_key": "my-app"}).conversation == ""
    assert read_messages({"metadata": {"user_id": "customer-17"}}).conversation == ""


@pytest.mark.parametrize(
    ("said", "repeated"),
    [
        ({"role": "assistant", "content": "Hi"}, {"content": [{"type": "text", "text": "Hi"}]}),
        # Cache marks wander from turn to turn, thoughts are left out of the next request.
        (
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}],
            },
            {"content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]},
        ),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "1", "function": {"name": "ls", "arguments": '{"a":1}'}}],
            },
            {"content": "", "tool_calls": [{"id": "1", "function": {"name": "ls", "arguments": '{"a": 1}'}}]},
        ),
    ],
)
def test_an_answer_is_known_again_in_the_next_request(said: dict[str, Any], repeated: dict[str, Any]) -> None:
    assert fingerprint(said) == fingerprint({"role": "assistant", **repeated})


def test_the_same_words_said_twice_are_two_messages() -> None:
    assert len(set(event_ids("c", ["a", "b", "a"]))) == 3
    assert event_ids("c", ["a", "b"]) == event_ids("c", ["a", "b", "a"])[:2]
    assert event_ids("c", ["a"]) != event_ids("d", ["a"])


def test_the_system_prompt_is_read_from_each_vendors_place() -> None:
    assert system_head(read_messages({"system": [{"type": "text", "text": "Be brief."}]})) == "Be brief."
    assert system_head(read_responses({"instructions": "Be brief."})) == "Be brief."
    developer = {"role": "developer", "content": "Be brief."}
    assert system_head(read_chat({"messages": [developer, HI]})) == "Be brief."


@pytest.mark.parametrize(
    ("method", "path", "is_budgeted"),
    [
        ("POST", "/gateway/openai/v1/chat/completions", True),
        ("POST", "/gateway/openai/v1/responses", True),
        ("POST", "/gateway/anthropic/v1/messages", True),
        ("POST", "/gateway/anthropic/v1/messages/count_tokens", False),
        ("GET", "/gateway/openai/v1/models", False),
        ("GET", "/gateway/openai/v1/models/gpt-4o", False),
        # Everything else could cost money that nobody holds.
        ("POST", "/gateway/openai/v1/embeddings", None),
        ("POST", "/gateway/openai/v1/messages", None),
        ("GET", "/gateway/openai/v1/chat/completions", None),
        ("POST", "/gateway/openai/v1/chat/completions/", None),
        ("GET", "/gateway/openai/v1/models/../files", None),
        ("POST", "/gateway/other/v1/messages", None),
        ("POST", "/v1/chat/completions", None),
    ],
)
def test_only_known_operations_pass(method: str, path: str, is_budgeted: bool | None) -> None:
    route = route_of(method, path)
    assert (route and route.protocol is not None) == is_budgeted


def test_the_callers_key_is_found_in_either_place_and_goes_no_further() -> None:
    key = "ctxb_" + "a" * 40
    for headers in (
        [(b"authorization", f"Bearer {key}".encode())],
        [(b"x-api-key", key.encode())],
        [(b"authorization", b"Bearer oauth-token"), (b"x-api-key", key.encode())],
    ):
        assert caller_key(headers) == key
        passed = to_upstream(headers, host=b"up", length=0, credential=(b"x-api-key", b"theirs"))
        assert [value for name, value in passed if name == b"x-api-key"] == [b"theirs"]
        assert not any(key.encode() in value or b"oauth" in value for _, value in passed)


def test_headers_pass_but_for_the_connections_own_and_ours() -> None:
    sent = [
        (b"host", b"gateway"),
        (b"connection", b"keep-alive, X-Private"),
        (b"x-private", b"1"),
        (b"transfer-encoding", b"chunked"),
        (b"x-ctxbudget-session", b"ext:1"),
        (b"accept-encoding", b"br, gzip"),
        (b"anthropic-beta", b"a,b"),
        (b"x-stainless-lang", b"python"),
    ]
    assert to_upstream(sent, host=b"up", length=7, credential=None) == [
        (b"host", b"up"),
        (b"accept-encoding", b"gzip"),
        (b"content-length", b"7"),
        (b"anthropic-beta", b"a,b"),
        (b"x-stainless-lang", b"python"),
    ]
    answered = [(b"Content-Type", b"x"), (b"Transfer-Encoding", b"chunked"), (b"X-RateLimit", b"1")]
    assert to_client(answered) == [(b"content-type", b"x"), (b"x-ratelimit", b"1")]
