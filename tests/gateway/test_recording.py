"""What of a call ends up in its session: every message once, the usage, and nothing that does not belong."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.core.listening import Heard
from gateway.core.protocols import PROTOCOLS, Protocol
from gateway.services import closing, opening
from gateway.values import OpenCall, Wanted
from kernel.models import Job
from kernel.tasks import run_job
from sessions.models import AgentSession, Message
from sessions.services.ingest import record_events
from sessions.services.store import from_bytes, section_texts
from teams.models import Project
from tests.money import books_balance

__all__ = ["books_balance"]

pytestmark = pytest.mark.django_db(transaction=True)

CHAT = PROTOCOLS["openai", "/v1/chat/completions"]
MESSAGES = PROTOCOLS["anthropic", "/v1/messages"]
SYSTEM = {"role": "system", "content": "You are a careful agent."}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


class Agent:
    """Calls through the gateway's services and lets a worker record."""

    def __init__(self, key: str, *, ref: str = "ext:run") -> None:
        self.key, self.ref = key, ref
        self.number = 0

    def call(
        self, messages: list[Any], answer: str, *, protocol: Protocol = CHAT, record: bool = True, **body: Any
    ) -> OpenCall:
        self.number += 1
        asked = {"model": "gpt-4o", "messages": messages, **body}
        wanted = Wanted(key=self.key, protocol=protocol, request=protocol.read(asked), session_ref=self.ref)
        call = opening.open_call(wanted)
        assert isinstance(call, OpenCall), call
        closing.close_call(call, self._heard(protocol, answer))
        if record:
            self.record(call)
        return call

    def _heard(self, protocol: Protocol, answer: str) -> Heard:
        response_id = f"{self.ref}-{self.number}"
        response: dict[str, Any] = {"id": response_id, "choices": [{"index": 0, "message": said(answer)}]}
        if protocol is MESSAGES:
            response = {"id": response_id, "role": "assistant", "content": [{"type": "text", "text": answer}]}
        usage = {"prompt_tokens": 100 * self.number, "completion_tokens": 7}
        if protocol is MESSAGES:
            usage = {"input_tokens": 100 * self.number, "output_tokens": 7}
        return Heard(response=response, usage=usage, response_id=response_id, complete=True)

    def record(self, call: OpenCall) -> None:
        run_job(call.job_id)
        job = Job.objects.get(pk=call.job_id)
        assert job.state == Job.State.DONE, job.error


@pytest.fixture
def agent(agent_key: str) -> Agent:
    opening._callers.clear()
    return Agent(agent_key)


def texts(session: AgentSession | None = None) -> list[str]:
    rows = Message.objects.filter(session=session or AgentSession.objects.get()).order_by("seq")
    return [str(from_bytes(row.body)["content"]) for row in rows]


def test_a_history_that_grows_is_recorded_once(agent: Agent) -> None:
    history: list[Any] = [SYSTEM]
    for turn in range(12):
        history.append(user(f"Question {turn % 3}"))
        agent.call(history, f"Answer {turn % 3}")
        history.append(said(f"Answer {turn % 3}"))
    expected = [text for turn in range(12) for text in (f"Question {turn % 3}", f"Answer {turn % 3}")]
    assert texts() == expected
    session = AgentSession.objects.get()
    assert section_texts(session)["system_prompt"] == SYSTEM["content"]
    assert (session.turns, session.reported_prompt, session.epoch) == (12, 1200, 0)


def test_only_what_is_new_travels_to_the_worker(agent: Agent) -> None:
    history = [user(f"{number}") if number % 2 == 0 else said(f"{number}") for number in range(21)]
    agent.call(history, "21")
    call = agent.call([*history, said("21"), user("22")], "23", record=False)
    events = Job.objects.get(pk=call.job_id).payload["events"]
    assert [event["message"]["content"] for event in events if event["type"] == "message"] == ["22", "23"]
    agent.record(call)
    assert texts() == [str(number) for number in range(24)]


def test_workers_that_overtake_each_other_record_the_same(agent: Agent) -> None:
    first = agent.call([user("1")], "2", record=False)
    second = agent.call([user("1"), said("2"), user("3")], "4", record=False)
    agent.record(second)
    agent.record(first)
    assert texts() == ["1", "2", "3", "4"]
    assert AgentSession.objects.get().reported_prompt == 200


def test_a_job_that_is_done_twice_records_once_and_forgets_the_words(agent: Agent) -> None:
    call = agent.call([user("secret words")], "and more", record=False)
    payload = Job.objects.get(pk=call.job_id).payload
    agent.record(call)
    assert "secret" not in str(Job.objects.get(pk=call.job_id).payload)
    Job.objects.filter(pk=call.job_id).update(state=Job.State.QUEUED, payload=payload, attempt=1)
    agent.record(call)
    session = AgentSession.objects.get()
    assert (texts(), session.turns) == (["secret words", "and more"], 1)


def test_the_usage_is_counted_once_with_the_settled_hold(agent: Agent) -> None:
    agent.call([user("Hi")], "Hello")
    session = AgentSession.objects.get()
    assert session.spent_nano == 100 * 2500 + 7 * 10_000
    assert (session.input_tokens, session.output_tokens) == (100, 7)


def test_an_agent_that_compacted_itself_starts_a_new_epoch(agent: Agent) -> None:
    agent.call([SYSTEM, user("Do it")], "Working")
    agent.call([SYSTEM, user("Do it"), said("Working"), user("Go on")], "Done")
    agent.call([SYSTEM, user("Summary: it is done"), user("Go on")], "What next?")
    session = AgentSession.objects.get()
    assert session.epoch == 1
    assert texts()[-3:] == ["Summary: it is done", "Go on", "What next?"]
    assert len(texts()) == 7
    live = Message.objects.filter(session=session, seq__gt=session.base_seq)
    assert live.count() == 3


def test_another_agents_call_costs_and_stays_out_of_the_context(agent: Agent) -> None:
    agent.call([SYSTEM, user("Do it")], "Working")
    title = {"role": "system", "content": "You write titles."}
    agent.call([title, user("Do it")], "A title")
    session = AgentSession.objects.get()
    assert texts() == ["Do it", "Working"]
    assert (session.turns, session.reported_prompt) == (2, 100)
    assert session.spent_nano == 300 * 2500 + 14 * 10_000


def test_an_agent_that_reports_its_own_messages_gets_the_usage_only(agent: Agent, project: Project) -> None:
    agent.call([user("1")], "2", record=False)
    event = {"event_id": "e1", "type": "message", "message": user("as reported")}
    record_events(project_id=project.pk, ref="ext:run", format="native", events=[event])
    agent.call([user("1"), said("2"), user("3")], "4")
    session = AgentSession.objects.get()
    assert (texts(), session.reported_prompt) == (["as reported"], 200)


def test_a_project_that_keeps_numbers_only_keeps_no_words_anywhere(agent: Agent, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(content_policy=Project.Content.NUMBERS_ONLY)
    call = agent.call([user("secret words")], "secret answer", record=False)
    assert "secret" not in str(Job.objects.get(pk=call.job_id).payload)
    agent.record(call)
    session = AgentSession.objects.get()
    assert (session.reported_prompt, session.turns, session.head_seq) == (100, 1, 0)


def test_anthropics_blocks_are_known_again_wherever_the_cache_marks_are(agent: Agent) -> None:
    def marked(text: str) -> Any:
        block = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
        return {"role": "user", "content": [block]}

    asked: Any = {"protocol": MESSAGES, "model": "claude-sonnet-4-6", "max_tokens": 10}
    agent.call([marked("One")], "Two", system="Be brief.", **asked)
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Two"}]}
    agent.call([user("One"), answer, marked("Three")], "Four", system="Be brief.", **asked)
    assert len(texts()) == 4


def test_what_our_events_cannot_hold_is_left_out(agent: Agent) -> None:
    orphan = {"role": "tool", "content": "result without a call"}
    agent.call([user("1"), orphan, {"role": "user"}, "nonsense", 7], "2")
    assert "1" in texts() and "2" in texts()
    assert "result without a call" not in texts()
