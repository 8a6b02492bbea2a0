"""The vendors' own SDKs through the gateway, unmodified but for base_url and key."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from typing import Any

import anthropic
import openai
import pytest
from anthropic import Anthropic
from openai import OpenAI

from budgets.models import Hold
from sessions.models import AgentSession
from tests.gateway.fixtures import (
    anthropic_client,
    entry_of,
    gateway,
    gateway_process,
    openai_client,
    run_recording,
    settled_holds,
    upstream,
    upstream_server,
    wait_for,
)
from tests.gateway.processes import RunningGateway
from tests.gateway.upstream import KEY, Manner, Upstream
from tests.product_processes import REPOSITORY

__all__ = ["anthropic_client", "gateway", "gateway_process", "openai_client", "upstream", "upstream_server"]

GPT, CLAUDE = "gpt-4o", "claude-sonnet-4-6"
HI: list[Any] = [{"role": "user", "content": "Hi"}]
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\x00" * 64).decode()
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
GPT_TOOL: Any = {"type": "function", "function": {"name": "weather", "parameters": WEATHER}}
CLAUDE_TOOL: Any = {"name": "weather", "input_schema": WEATHER}


def test_it_passes_a_chat_completion_and_settles_its_reported_usage(
    openai_client: OpenAI, upstream: Upstream
) -> None:
    raw = openai_client.chat.completions.with_raw_response.create(model=GPT, messages=HI, max_tokens=100)
    answer = raw.parse()
    assert answer.choices[0].message.content == "Hello from here"
    assert answer.id == "chatcmpl-1" or answer.id.startswith("chatcmpl-")
    [hold] = settled_holds()
    # gpt-4o: 2.50 and 10 dollars per million; 25 tokens in, 3 out.
    assert hold.cost_nano == 25 * 2500 + 3 * 10_000
    assert entry_of(hold).source == "reported"
    assert raw.headers["x-ctxbudget-cost"] == "0.0000925"
    assert raw.headers["x-ctxbudget-session"] == hold.session_id
    assert raw.headers["x-ctxbudget-session-source"] == "derived"
    assert raw.headers["x-upstream"] == "yes"


def test_it_passes_body_and_headers_unchanged_and_swaps_only_the_key(
    openai_client: OpenAI, anthropic_client: Anthropic, agent_key: str, upstream: Upstream
) -> None:
    unknown = {"unknown_field": {"ünï": [1, None]}}
    openai_client.chat.completions.create(
        model=GPT, messages=HI, extra_body=unknown, extra_headers={"X-Mine": "1"}
    )
    anthropic_client.beta.messages.create(
        model=CLAUDE, max_tokens=10, messages=HI, betas=["some-beta-2025-01-01"], extra_query={"beta": "true"}
    )
    first, second = upstream.asked
    assert first.body["unknown_field"] == {"ünï": [1, None]}
    assert first.headers["x-mine"] == "1"
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert second.path.startswith("/v1/messages?")
    assert second.headers["anthropic-beta"] == "some-beta-2025-01-01"
    assert second.headers["anthropic-version"] == anthropic_client.default_headers["anthropic-version"]
    assert second.headers["x-api-key"] == KEY
    assert "authorization" not in second.headers
    assert agent_key not in repr(upstream.asked)
    settled_holds(2)


def test_it_streams_a_chat_completion_and_reads_its_usage_on_the_way_past(openai_client: OpenAI) -> None:
    stream = openai_client.chat.completions.create(
        model=GPT, messages=HI, stream=True, stream_options={"include_usage": True}, max_completion_tokens=50
    )
    chunks = list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "Hello from here"
    assert chunks[-1].usage is not None
    [hold] = settled_holds()
    assert hold.cost_nano == 25 * 2500 + 3 * 10_000
    assert entry_of(hold).source == "reported"


def test_a_chat_stream_without_usage_is_estimated_and_says_so(openai_client: OpenAI) -> None:
    list(openai_client.chat.completions.create(model=GPT, messages=HI, stream=True))
    [hold] = settled_holds()
    entry = entry_of(hold)
    assert entry.source == "estimated"
    # "Hello from here" is 3 tokens; the prompt counted is the frame of one short message.
    assert entry.output_tokens == 3
    assert 5 <= entry.input_tokens <= 10


def test_the_first_words_arrive_before_the_last_are_said(openai_client: OpenAI, upstream: Upstream) -> None:
    upstream.manner = Manner(words=["word "] * 20, piece_s=0.05)
    before = upstream.sent_pieces
    stream = openai_client.chat.completions.create(model=GPT, messages=HI, stream=True)
    next(iter(stream))
    assert upstream.sent_pieces - before < 10
    assert len(list(stream)) >= 19
    settled_holds()


@pytest.mark.parametrize("streamed", [False, True])
def test_chat_tools_and_parallel_calls_go_there_and_back(
    openai_client: OpenAI, upstream: Upstream, streamed: bool
) -> None:
    cities = ["Bern", "Rom"]
    upstream.manner = Manner(tool_calls=[("weather", {"city": city}) for city in cities])
    header = {"X-Ctxbudget-Session": "ext:tools"}
    calls = _chat_calls(openai_client, header, streamed=streamed)
    assert [json.loads(call["function"]["arguments"])["city"] for call in calls] == cities
    upstream.manner = Manner(words=["Sunny"])
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "sun"} for call in calls]
    history = [*HI, {"role": "assistant", "content": None, "tool_calls": calls}, *results]
    openai_client.chat.completions.create(model=GPT, messages=history, tools=[GPT_TOOL], extra_headers=header)
    assert upstream.asked[-1].body["messages"] == history
    settled_holds(2)
    run_recording()
    session = AgentSession.objects.get(external_id="tools")
    roles = session.messages.order_by("seq").values_list("role", flat=True)
    assert list(roles) == ["user", "assistant", "tool", "tool", "assistant"]


def _chat_calls(client: OpenAI, headers: dict[str, str], *, streamed: bool) -> list[dict[str, Any]]:
    if not streamed:
        answer = client.chat.completions.create(
            model=GPT, messages=HI, tools=[GPT_TOOL], extra_headers=headers
        )
        return [call.model_dump() for call in answer.choices[0].message.tool_calls or []]
    with client.chat.completions.stream(
        model=GPT, messages=HI, tools=[{**GPT_TOOL}], extra_headers=headers
    ) as stream:
        message = stream.get_final_completion().choices[0].message
    calls = [call.model_dump() for call in message.tool_calls or []]
    for call in calls:
        call["function"].pop("parsed_arguments", None)
        call.pop("index", None)
    return calls


def test_it_passes_images(openai_client: OpenAI, anthropic_client: Anthropic, upstream: Upstream) -> None:
    text = {"type": "text", "text": "What is this?"}
    shown: Any = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    openai_client.chat.completions.create(model=GPT, messages=[{"role": "user", "content": [text, shown]}])
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    picture: Any = {"type": "image", "source": source}
    anthropic_client.messages.create(
        model=CLAUDE, max_tokens=50, messages=[{"role": "user", "content": [text, picture]}]
    )
    assert upstream.asked[0].body["messages"][0]["content"][1] == shown
    assert upstream.asked[1].body["messages"][0]["content"][1] == picture
    settled_holds(2)


def test_responses_plain_streamed_and_chained_share_their_session(
    openai_client: OpenAI, upstream: Upstream
) -> None:
    raw = openai_client.responses.with_raw_response.create(model=GPT, input="Hi", max_output_tokens=50)
    first = raw.parse()
    assert first.output_text == "Hello from here"
    with openai_client.responses.stream(model=GPT, input="And now?", previous_response_id=first.id) as stream:
        second = stream.get_final_response()
    assert second.output_text == "Hello from here"
    holds = settled_holds(2)
    assert {hold.session_id for hold in holds} == {raw.headers["x-ctxbudget-session"]}
    assert [entry_of(hold).source for hold in holds] == ["reported", "reported"]
    run_recording()
    session = AgentSession.objects.get()
    roles = session.messages.order_by("seq").values_list("role", flat=True)
    assert list(roles) == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("streamed", [False, True])
def test_anthropic_messages_plain_and_streamed(anthropic_client: Anthropic, streamed: bool) -> None:
    if streamed:
        with anthropic_client.messages.stream(model=CLAUDE, max_tokens=50, messages=HI) as stream:
            message = stream.get_final_message()
    else:
        message = anthropic_client.messages.create(model=CLAUDE, max_tokens=50, messages=HI)
    assert message.content[0].text == "Hello from here"  # type: ignore[union-attr]
    [hold] = settled_holds()
    # 3 and 15 dollars per million.
    assert hold.cost_nano == 25 * 3000 + 3 * 15_000
    assert entry_of(hold).source == "reported"


@pytest.mark.parametrize("streamed", [False, True])
def test_anthropic_tools_and_parallel_calls_go_there_and_back(
    anthropic_client: Anthropic, upstream: Upstream, streamed: bool
) -> None:
    upstream.manner = Manner(tool_calls=[("weather", {"city": "Bern"}), ("weather", {"city": "Rom"})])
    asked: Any = {"model": CLAUDE, "max_tokens": 50, "messages": HI, "tools": [CLAUDE_TOOL]}
    if streamed:
        with anthropic_client.messages.stream(**asked) as stream:
            message = stream.get_final_message()
    else:
        message = anthropic_client.messages.create(**asked)
    uses: list[Any] = [block for block in message.content if block.type == "tool_use"]
    assert [use.input["city"] for use in uses] == ["Bern", "Rom"]
    upstream.manner = Manner(words=["Sunny"])
    results = [{"type": "tool_result", "tool_use_id": use.id, "content": "sun"} for use in uses]
    calls = [{"type": "tool_use", "id": use.id, "name": use.name, "input": use.input} for use in uses]
    turns = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    anthropic_client.messages.create(**{**asked, "messages": [*HI, *turns]})
    settled_holds(2)
    run_recording()
    session = AgentSession.objects.get()
    roles = session.messages.order_by("seq").values_list("role", flat=True)
    assert list(roles) == ["user", "assistant", "tool", "tool", "assistant"]


def test_compressed_answers_are_read_and_passed_on_compressed(
    openai_client: OpenAI, upstream: Upstream
) -> None:
    upstream.manner = Manner(compressed=True)
    raw = openai_client.chat.completions.with_raw_response.create(model=GPT, messages=HI)
    assert raw.headers["content-encoding"] == "gzip"
    assert raw.parse().choices[0].message.content == "Hello from here"
    assert entry_of(settled_holds()[0]).source == "reported"


def test_what_costs_nothing_passes_without_a_hold(openai_client: OpenAI, anthropic_client: Anthropic) -> None:
    assert [model.id for model in openai_client.models.list()] == ["gpt-4o"]
    assert [model.id for model in anthropic_client.models.list()] == ["gpt-4o"]
    assert anthropic_client.messages.count_tokens(model=CLAUDE, messages=HI).input_tokens == 42
    assert not Hold.objects.exists()


def test_errors_of_the_upstream_pass_unchanged_and_cost_nothing(
    openai_client: OpenAI, anthropic_client: Anthropic, upstream: Upstream
) -> None:
    theirs = {"message": "Bad temperature", "type": "invalid_request_error", "param": "t", "code": None}
    upstream.manner = Manner(status=400, error={"error": theirs})
    with pytest.raises(openai.BadRequestError) as bad:
        openai_client.chat.completions.create(model=GPT, messages=HI)
    assert bad.value.body == theirs
    upstream.manner = Manner(
        status=429, error={"error": theirs}, error_headers={"retry-after": "7", "x-ratelimit-limit": "5"}
    )
    with pytest.raises(openai.RateLimitError) as limited:
        openai_client.chat.completions.create(model=GPT, messages=HI, stream=True)
    assert limited.value.response.headers["retry-after"] == "7"
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    upstream.manner = Manner(status=529, error=overloaded)
    with pytest.raises(anthropic.APIStatusError) as busy:
        anthropic_client.messages.create(model=CLAUDE, max_tokens=5, messages=HI)
    assert busy.value.status_code == 529
    assert busy.value.body == overloaded
    assert {hold.state for hold in settled_holds(3)} == {"voided"}


def test_a_caller_that_hangs_up_stops_the_upstream_and_pays_for_what_it_heard(
    anthropic_client: Anthropic, upstream: Upstream
) -> None:
    upstream.manner = Manner(words=["word "] * 500, piece_s=0.02)
    with anthropic_client.messages.stream(model=CLAUDE, max_tokens=1000, messages=HI) as stream:
        for number, _ in enumerate(stream.text_stream):
            if number == 5:
                break
    [hold] = settled_holds()
    entry = entry_of(hold)
    assert entry.source == "estimated"
    assert entry.input_tokens == 25
    assert 5 <= entry.output_tokens < 200
    assert hold.cost_nano is not None and hold.cost_nano < hold.amount_nano
    sent = upstream.sent_pieces
    wait_for(lambda: upstream.broken_pipes)
    assert upstream.sent_pieces - sent < 450


def test_a_caller_that_gives_up_before_the_answer_pays_for_the_input(
    openai_client: OpenAI, upstream: Upstream
) -> None:
    upstream.manner = Manner(first_s=3)
    with pytest.raises(openai.APITimeoutError):
        openai_client.chat.completions.create(model=GPT, messages=HI, max_tokens=100, timeout=0.5)
    [hold] = settled_holds()
    entry = entry_of(hold)
    assert (entry.source, entry.output_tokens) == ("estimated", 0)
    assert entry.input_tokens > 0


@pytest.mark.parametrize("include_usage", [False, True])
def test_an_upstream_that_dies_in_mid_stream_is_seen_by_the_caller(
    openai_client: OpenAI, upstream: Upstream, include_usage: bool
) -> None:
    upstream.manner = Manner(words=[" word"] * 50, dies_after=10)
    options: Any = {"stream_options": {"include_usage": True}} if include_usage else {}
    heard = []
    with pytest.raises(Exception) as broken:
        for chunk in openai_client.chat.completions.create(model=GPT, messages=HI, stream=True, **options):
            heard.append(chunk)
    assert len(heard) == 10
    assert not isinstance(broken.value, AssertionError)
    [hold] = settled_holds()
    assert entry_of(hold).source == "estimated"
    assert entry_of(hold).output_tokens == 9


def test_an_upstream_that_dies_before_its_answer_is_a_502_in_the_vendors_shape(
    anthropic_client: Anthropic, upstream: Upstream
) -> None:
    upstream.manner = Manner(dies_after=0)
    with pytest.raises(anthropic.InternalServerError) as lost:
        anthropic_client.messages.create(model=CLAUDE, max_tokens=5, messages=HI)
    assert lost.value.status_code == 502
    assert lost.value.body["error"]["code"] == "upstream_lost"  # type: ignore[index]
    entry = entry_of(settled_holds()[0])
    assert (entry.source, entry.output_tokens) == ("estimated", 0)
    assert entry.input_tokens > 0


def test_openai_in_three_lines(gateway: RunningGateway, agent_key: str) -> None:
    client = _from_readme("python", 0, gateway, agent_key)["client"]
    answer = client.chat.completions.create(model=GPT, messages=HI)
    assert answer.choices[0].message.content == "Hello from here"
    settled_holds()


def test_anthropic_in_three_lines(gateway: RunningGateway, agent_key: str) -> None:
    client = _from_readme("python", 1, gateway, agent_key)["client"]
    answer = client.messages.create(model=CLAUDE, max_tokens=10, messages=HI)
    assert answer.content[0].text == "Hello from here"
    settled_holds()


CLAUDE_CODE = f"""
import anthropic
client = anthropic.Anthropic(max_retries=0)
user = "user_1_account__session_2f1e8c1a-93f0-4d2c-8a52-6a7d8a1f0c11"
with client.beta.messages.stream(
    model="{CLAUDE}", max_tokens=50, system=[{{"type": "text", "text": "You are Claude Code."}}],
    messages=[{{"role": "user", "content": "Hi"}}], metadata={{"user_id": user}},
    betas=["claude-code-20250219"],
) as stream:
    print(stream.get_final_text())
"""


def test_claude_code_in_three_lines(gateway: RunningGateway, agent_key: str) -> None:
    """Its variables are read by the SDK that it is built on; the call is made as it makes it."""
    script = _block("sh", 0, gateway, agent_key).replace("\nclaude\n", f'\n{sys.executable} -c "$CLAUDE"\n')
    environment = {**os.environ, "CLAUDE": CLAUDE_CODE}
    done = subprocess.run(["sh", "-ec", script], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "Hello from here"
    settled_holds()


def _from_readme(language: str, number: int, gateway: RunningGateway, key: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(_block(language, number, gateway, key), names)
    return names


def _block(language: str, number: int, gateway: RunningGateway, key: str) -> str:
    section = (REPOSITORY / "README.md").read_text().split("## Change the address")[1].split("\n## ")[0]
    block = re.findall(rf"```{language}\n(.*?)```", section, re.S)[number]
    return str(block).replace("http://127.0.0.1:8001", gateway.url).replace("ctxb_…", key)
