"""Projects whose calls are assembled: the session's own context is sent, the rest of the request stays."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from anthropic import Anthropic
from django.core.management import CommandError, call_command
from openai import OpenAI

from gateway.services import modes, opening
from sessions.models import AgentSession, Message
from sessions.services.store import from_bytes
from teams.models import AuditEvent, Project
from tests.gateway.fixtures import (
    anthropic_client,
    gateway,
    gateway_process,
    openai_client,
    run_recording,
    settled_holds,
    upstream,
    upstream_server,
)
from tests.gateway.upstream import Upstream

__all__ = ["anthropic_client", "gateway", "gateway_process", "openai_client", "upstream", "upstream_server"]

pytestmark = pytest.mark.django_db(transaction=True)

GPT = "gpt-4"  # 8,192 tokens
NAME = {"X-Ctxbudget-Session": "ext:long"}
SYSTEM: Any = {"role": "system", "content": "You are a careful agent."}


@pytest.fixture(autouse=True)
def assembling(project: Project) -> None:
    modes._modes.clear()
    opening._callers.clear()
    call_command("gateway_mode", "assemble", team="Acme", project="alpha")


def long_history(turns: int) -> list[Any]:
    words = "and then something else happened in the house by the sea " * 15
    history: list[Any] = [SYSTEM]
    for turn in range(turns):
        history.append({"role": "user", "content": f"Part {turn}: {words}"})
        history.append({"role": "assistant", "content": f"Noted {turn}."})
    return [*history, {"role": "user", "content": "What happened in part 3?"}]


def test_a_history_that_is_too_long_is_sent_as_a_context_that_fits(
    openai_client: OpenAI, upstream: Upstream
) -> None:
    tool: Any = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
    history = long_history(60)
    raw = openai_client.chat.completions.with_raw_response.create(
        model=GPT, messages=history, max_tokens=50, tools=[tool], temperature=0.5, extra_headers=NAME
    )
    assert raw.headers["x-ctxbudget-assembled"] == "true"
    assert raw.parse().choices[0].message.content == "Hello from here"
    [asked] = upstream.asked
    sent = asked.body["messages"]
    assert len(sent) < len(history)
    assert SYSTEM["content"] in sent[0]["content"]
    assert sent[-1]["content"] == "What happened in part 3?"
    assert asked.body["tools"] == [tool]
    assert (asked.body["temperature"], asked.body["max_tokens"]) == (0.5, 50)
    [hold] = settled_holds()
    assert (hold.estimated_input or 0) < 8192
    run_recording()
    session = AgentSession.objects.get()
    assert session.messages.count() == 122


def test_the_next_call_adds_only_what_is_new(openai_client: OpenAI, upstream: Upstream) -> None:
    history = long_history(3)
    openai_client.chat.completions.create(model=GPT, messages=history, extra_headers=NAME)
    answered = [*history, {"role": "assistant", "content": "Hello from here"}]
    openai_client.chat.completions.create(
        model=GPT, messages=[*answered, {"role": "user", "content": "And then?"}], extra_headers=NAME
    )
    settled_holds(2)
    run_recording()
    rows = Message.objects.order_by("seq")
    assert [from_bytes(row.body)["content"] for row in rows][-4:] == [
        "What happened in part 3?",
        "Hello from here",
        "And then?",
        "Hello from here",
    ]
    assert rows.count() == 10
    assert upstream.asked[1].body["messages"][-1]["content"] == "And then?"


def test_anthropics_system_prompt_stays_where_anthropic_wants_it(
    anthropic_client: Anthropic, upstream: Upstream
) -> None:
    raw = anthropic_client.messages.with_raw_response.create(
        model="claude-sonnet-4-6",
        max_tokens=50,
        system="You are a careful agent.",
        messages=[{"role": "user", "content": "Hi"}],
        extra_headers=NAME,
    )
    assert raw.headers["x-ctxbudget-assembled"] == "true"
    body = upstream.asked[0].body
    assert "You are a careful agent." in str(body["system"])
    assert [message["role"] for message in body["messages"]] == ["user"]
    settled_holds()


def test_another_agents_call_in_the_session_is_sent_as_it_came(
    openai_client: OpenAI, upstream: Upstream
) -> None:
    openai_client.chat.completions.create(model=GPT, messages=long_history(1), extra_headers=NAME)
    title: list[Any] = [{"role": "system", "content": "You write titles."}, {"role": "user", "content": "x"}]
    raw = openai_client.chat.completions.with_raw_response.create(
        model=GPT, messages=title, extra_headers=NAME
    )
    assert "x-ctxbudget-assembled" not in raw.headers
    assert upstream.asked[1].body["messages"] == title
    settled_holds(2)


def test_what_cannot_fit_even_so_is_refused(openai_client: OpenAI, upstream: Upstream) -> None:
    huge: Any = {"role": "system", "content": "word " * 20_000}
    with pytest.raises(openai.APIStatusError) as refused:
        openai_client.chat.completions.create(
            model=GPT, messages=[huge, {"role": "user", "content": "Hi"}], extra_headers=NAME
        )
    assert refused.value.status_code in (409, 413)
    assert upstream.asked == []


def test_the_mode_is_changed_with_an_audit_row_and_only_for_projects_that_exist(project: Project) -> None:
    assert modes.assembles(project.pk)
    call_command("gateway_mode", "observe", team="Acme", project="alpha")
    modes._modes.clear()
    assert not modes.assembles(project.pk)
    changes = AuditEvent.objects.filter(action="gateway.mode").order_by("id")
    assert [row.after for row in changes] == [{"assembles": True}, {"assembles": False}]
    with pytest.raises(CommandError):
        call_command("gateway_mode", "observe", team="Acme", project="nowhere")
