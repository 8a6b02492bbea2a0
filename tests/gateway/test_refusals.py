"""Refusals as the vendors' SDKs see them, bad input, secrets, and readers that are slow."""

from __future__ import annotations

import gzip
import json
import socket
import time
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from anthropic import Anthropic
from openai import OpenAI

from budgets.models import Hold
from sessions.models import AgentSession
from teams.models import ApiKey, Project
from tests.gateway.fixtures import (
    anthropic_client,
    gateway,
    gateway_process,
    openai_client,
    settled_holds,
    upstream,
    upstream_server,
    wait_for,
)
from tests.gateway.processes import RunningGateway
from tests.gateway.upstream import KEY, Manner, Upstream
from tests.money import CENT, cap_on, spender_of

__all__ = ["anthropic_client", "gateway", "gateway_process", "openai_client", "upstream", "upstream_server"]

GPT, CLAUDE = "gpt-4o", "claude-sonnet-4-6"
HI: list[Any] = [{"role": "user", "content": "Hi"}]
CHAT = "/gateway/openai/v1/chat/completions"


def cap_key(project: Project, agent_key: str, limit_nano: int) -> None:
    key_id = ApiKey.objects.get(prefix=agent_key[:13]).pk
    cap_on(spender_of(project, key=key_id), "key", limit_nano)


def test_a_spent_cap_is_a_402_that_no_sdk_retries(
    gateway: RunningGateway, project: Project, agent_key: str, upstream: Upstream
) -> None:
    cap_key(project, agent_key, CENT)
    patient: Any = {"api_key": agent_key, "max_retries": 3}
    for_gpt = OpenAI(base_url=f"{gateway.url}/gateway/openai/v1", **patient)
    with pytest.raises(openai.APIStatusError) as refused:
        for_gpt.chat.completions.create(model=GPT, messages=HI, max_tokens=2000)
    assert refused.value.status_code == 402
    assert refused.value.response.headers["x-should-retry"] == "false"
    assert (refused.value.code, refused.value.type) == ("cap_reached", "insufficient_quota")
    figures: Any = refused.value.body
    assert figures["ctxbudget"]["limit_usd"] == "0.01"
    assert figures["ctxbudget"]["approval"].startswith("appr_")
    for_claude = Anthropic(base_url=f"{gateway.url}/gateway/anthropic", **patient)
    with pytest.raises(anthropic.APIStatusError) as also:
        for_claude.messages.create(model=CLAUDE, max_tokens=2000, messages=HI)
    assert also.value.status_code == 402
    error: Any = also.value.body
    assert (error["type"], error["error"]["type"]) == ("error", "billing_error")
    assert upstream.asked == []


def test_a_cap_filled_by_open_calls_is_a_429_that_passes_when_they_end(
    gateway: RunningGateway, project: Project, agent_key: str, upstream: Upstream
) -> None:
    cap_key(project, agent_key, CENT)
    upstream.manner = Manner(words=["word "] * 60, piece_s=0.02)
    client = OpenAI(base_url=f"{gateway.url}/gateway/openai/v1", api_key=agent_key, max_retries=0)
    stream = client.chat.completions.create(model=GPT, messages=HI, max_tokens=800, stream=True)
    with pytest.raises(openai.RateLimitError) as busy:
        client.chat.completions.create(model=GPT, messages=HI, max_tokens=800)
    assert (busy.value.code, busy.value.response.headers["retry-after"]) == ("cap_busy", "2")
    patient = client.with_options(max_retries=5)
    answer = patient.chat.completions.create(model=GPT, messages=HI, max_tokens=800)
    assert answer.choices[0].message.content
    assert list(stream)
    assert {hold.state for hold in settled_holds(2)} == {"settled"}


def test_what_cannot_fit_is_a_413_in_each_shape(openai_client: OpenAI, anthropic_client: Anthropic) -> None:
    long: list[Any] = [{"role": "user", "content": "word " * 10_000}]
    with pytest.raises(openai.APIStatusError) as large:
        openai_client.chat.completions.create(model="gpt-4", messages=long)
    assert (large.value.status_code, large.value.code) == (413, "context_too_large")
    assert "max allowed is 8,192 tokens" in large.value.message
    longer: list[Any] = [{"role": "user", "content": "word " * 400_000}]
    with pytest.raises(anthropic.RequestTooLargeError) as larger:
        anthropic_client.messages.create(model="claude-haiku-4-5", max_tokens=5, messages=longer)
    assert larger.value.body["error"]["type"] == "request_too_large"  # type: ignore[index]
    assert not Hold.objects.exists()


def test_bad_keys_scopes_and_sessions_raise_the_sdks_own_errors(
    gateway: RunningGateway, openai_client: OpenAI, read_key: str, upstream: Upstream
) -> None:
    def call(client: OpenAI, **headers: str) -> None:
        client.chat.completions.create(model=GPT, messages=HI, extra_headers=headers)

    with pytest.raises(openai.AuthenticationError):
        call(openai_client.with_options(api_key="ctxb_" + "x" * 40))
    with pytest.raises(openai.AuthenticationError):
        call(openai_client.with_options(api_key=KEY))
    with pytest.raises(openai.PermissionDeniedError):
        call(openai_client.with_options(api_key=read_key))
    with pytest.raises(openai.NotFoundError):
        call(openai_client, **{"X-Ctxbudget-Session": "sess_none"})
    with pytest.raises(openai.BadRequestError):
        call(openai_client, **{"X-Ctxbudget-Session": "ext:not this"})
    with pytest.raises(openai.AuthenticationError):
        openai_client.with_options(api_key="sk-other").models.list()
    with pytest.raises(openai.NotFoundError):
        openai_client.embeddings.create(model="text-embedding-3-small", input="Hi")
    assert upstream.asked == []


def test_a_session_paused_by_hand_is_not_asked_again_and_again(
    openai_client: OpenAI, upstream: Upstream
) -> None:
    name = {"X-Ctxbudget-Session": "ext:paused"}
    openai_client.chat.completions.create(model=GPT, messages=HI, extra_headers=name)
    AgentSession.objects.update(state=AgentSession.State.PAUSED, pause_reason="Lunch.")
    patient = openai_client.with_options(max_retries=3)
    with pytest.raises(openai.ConflictError) as paused:
        patient.chat.completions.create(model=GPT, messages=HI, extra_headers=name)
    assert paused.value.response.headers["x-should-retry"] == "false"
    assert len(upstream.asked) == 1


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"", {}, 400),
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"\xff\xfe", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b'{"messages": []}', {}, 400),
        (b'{"model": 7}', {}, 400),
        (b'{"model": "' + b"x" * 300 + b'"}', {}, 400),
        (gzip.compress(b'{"model": "gpt-4o"}'), {"Content-Encoding": "gzip"}, 400),
        (b'{"model": "gpt-4o", "x": "' + b"x" * 33 * 1024**2 + b'"}', {}, 413),
        # Odd, but the vendor's to judge: it passes.
        (b'{"model": "gpt-4o", "messages": {"a": 1}, "tools": 7, "max_tokens": "many"}', {}, 200),
        (b'{"model": "gpt-4o", "messages": [null, 7, [], {"role": 3}, {"role": "tool"}]}', {}, 200),
        (b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "\\u0000\\ud800"}]}', {}, 200),
        (b'{"model": "m\\u0000\\ud800", "messages": []}', {}, 400),
    ],
)
def test_bad_input_gets_an_answer_and_leaves_the_gateway_alive(
    gateway: RunningGateway, agent_key: str, content: bytes, headers: dict[str, str], status: int
) -> None:
    sent = {"Authorization": f"Bearer {agent_key}", "Content-Type": "application/json", **headers}
    answer = httpx2.post(gateway.url + CHAT, content=content, headers=sent, trust_env=False)
    assert answer.status_code == status
    assert isinstance(answer.json(), dict)
    assert httpx2.get(f"{gateway.url}/healthz", trust_env=False).status_code == 200


def test_a_reader_that_is_slow_slows_the_upstream_down(
    gateway: RunningGateway, agent_key: str, upstream: Upstream
) -> None:
    upstream.manner = Manner(words=["x" * 65_536] * 2000)
    before = upstream.sent_pieces
    body = json.dumps({"model": "gpt-4o", "messages": HI, "stream": True}).encode()
    with socket.create_connection(("127.0.0.1", gateway.port)) as slow:
        head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {agent_key}\r\n"
        slow.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_for(lambda: upstream.sent_pieces > before)
        time.sleep(1.5)
        # 128 MB are waiting; what left the upstream fills the sockets' buffers and no more.
        assert upstream.sent_pieces - before < 500
    settled_holds()


def test_no_key_is_ever_logged_or_returned(
    gateway: RunningGateway, openai_client: OpenAI, agent_key: str, upstream: Upstream
) -> None:
    raw = openai_client.chat.completions.with_raw_response.create(model=GPT, messages=HI)
    upstream.manner = Manner(dies_after=0)
    with pytest.raises(openai.InternalServerError) as lost:
        openai_client.chat.completions.create(model=GPT, messages=HI)
    shown = f"{raw.headers} {raw.text} {lost.value.response.headers} {lost.value.response.text}"
    for secret in (KEY, agent_key):
        assert secret not in shown
        assert secret not in gateway.process.output()
    settled_holds(2)
