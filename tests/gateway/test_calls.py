"""A call's money: what is held, what is settled, what becomes of calls that nobody ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from budgets.models import Hold, LedgerEntry
from gateway.core.listening import Heard
from gateway.core.protocols import PROTOCOLS
from gateway.services import closing, opening
from gateway.services.call_jobs import LEASE
from gateway.values import OpenCall, Wanted
from kernel.errors import NotFound, ProblemError, Unauthenticated
from kernel.models import Job
from kernel.tasks import run_job
from sessions.errors import ContextTooLarge
from sessions.models import AgentSession
from teams.models import ApiKey, Project
from teams.services import create_api_key, revoke_api_key
from tests.conftest import Clock
from tests.money import CENT, books_balance, cap_on, spender_of

__all__ = ["books_balance"]

pytestmark = pytest.mark.django_db(transaction=True)

CHAT = PROTOCOLS["openai", "/v1/chat/completions"]
MESSAGES = PROTOCOLS["anthropic", "/v1/messages"]
RESPONSES = PROTOCOLS["openai", "/v1/responses"]
HI = {"role": "user", "content": "Hi"}


@pytest.fixture(autouse=True)
def forgotten_callers() -> Iterator[None]:
    yield
    opening._callers.clear()


def wanted(key: str, *, protocol: Any = CHAT, ref: str = "ext:run", beta: str = "", **body: Any) -> Wanted:
    asked = {"model": "gpt-4o", "max_tokens": 100, "messages": [HI], **body}
    return Wanted(key=key, protocol=protocol, request=protocol.read(asked), session_ref=ref, beta=beta)


def opened(key: str, **asked: Any) -> OpenCall:
    call = opening.open_call(wanted(key, **asked))
    assert isinstance(call, OpenCall), call
    return call


def heard_of(usage: dict[str, Any] | None, *, complete: bool = True, text: str = "Hello") -> Heard:
    message = {"role": "assistant", "content": text}
    response = {"id": "chatcmpl-9", "choices": [{"index": 0, "message": message}]}
    return Heard(response=response, usage=usage, response_id="chatcmpl-9", complete=complete)


USAGE = {"prompt_tokens": 20, "completion_tokens": 5}


def test_it_holds_the_counted_input_and_all_of_the_allowed_output(agent_key: str) -> None:
    call = opened(agent_key, n=2)
    # "Hi" is one token, its frame and the reply's are seven.
    assert call.measured.tokens == 8
    assert call.held_nano == 8 * 2500 + 2 * 100 * 10_000


def test_tools_count(agent_key: str) -> None:
    tool = {"type": "function", "function": {"name": "ls", "description": "Lists files. " * 50}}
    assert opened(agent_key, tools=[tool]).measured.tokens > 100


def test_without_a_maximum_the_sessions_average_stands_in(agent_key: str) -> None:
    first = opened(agent_key, max_tokens=None)
    assert first.held_nano == 8 * 2500 + 1024 * 10_000
    closing.close_call(first, heard_of(USAGE))
    assert opened(agent_key, max_tokens=None).held_nano == 8 * 2500 + 5 * 10_000


@pytest.mark.parametrize(("ttl", "rate"), [("5m", 3750), ("1h", 6000)])
def test_what_may_be_written_to_the_cache_is_held_at_its_price(agent_key: str, ttl: str, rate: int) -> None:
    text = {"type": "text", "text": "word " * 500}
    marked = {**text, "cache_control": {"type": "ephemeral", "ttl": ttl}}
    asked: Any = {"protocol": MESSAGES, "model": "claude-sonnet-4-6", "max_tokens": 1}
    plain = opened(agent_key, messages=[{"role": "user", "content": [text]}], **asked)
    assert plain.held_nano == plain.measured.high * 3000 + 15_000
    cached = opened(agent_key, messages=[{"role": "user", "content": [marked]}], **asked)
    # Rounded up to whole tokens of plain input.
    assert 0 <= cached.held_nano - 15_000 - cached.measured.high * rate < 3000


def test_the_vendors_usage_is_settled_and_the_rest_is_given_back(project: Project, agent_key: str) -> None:
    call = opened(agent_key)
    hold = closing.close_call(call, heard_of(USAGE))
    assert (hold.state, hold.cost_nano) == (Hold.State.SETTLED, 20 * 2500 + 5 * 10_000)
    entry = LedgerEntry.objects.get()
    assert (entry.source, entry.response_id, entry.key_id) == ("reported", "chatcmpl-9", call.caller.key_id)


@pytest.mark.parametrize(
    ("heard", "tokens"),
    [
        # Nothing came: the input is paid.
        (Heard(response=None, usage=None, response_id="", complete=False), (8, 0)),
        # Half an answer, no usage: what was said is counted.
        (heard_of(None, complete=False, text="Hello from here"), (8, 3)),
        # Complete, and the vendor says nothing about usage.
        (heard_of(None, text="Hello from here"), (8, 3)),
        # Half an answer after a first report: its input, and the more of both outputs.
        (heard_of({"prompt_tokens": 20, "completion_tokens": 1}, complete=False, text="One two"), (20, 2)),
        # A report that is none.
        (heard_of({"prompt_tokens": -5}, text="Hello"), (8, 1)),
    ],
)
def test_what_is_not_reported_is_estimated_and_says_so(
    agent_key: str, heard: Heard, tokens: tuple[int, int]
) -> None:
    closing.close_call(opened(agent_key), heard)
    entry = LedgerEntry.objects.get()
    assert ((entry.input_tokens, entry.output_tokens), entry.source) == (tokens, "estimated")


def test_a_refused_call_costs_nothing(agent_key: str) -> None:
    closing.void_call(opened(agent_key))
    assert Hold.objects.get().state == Hold.State.VOIDED
    assert not LedgerEntry.objects.exists()
    assert Job.objects.get().state == Job.State.DONE


def test_an_upstream_that_repeats_its_ids_is_paid_for_every_call(agent_key: str) -> None:
    for _ in range(3):
        closing.close_call(opened(agent_key), heard_of(USAGE))
    assert LedgerEntry.objects.count() == 3
    assert AgentSession.objects.get().spent_nano == 3 * (20 * 2500 + 5 * 10_000)


def test_a_call_whose_gateway_died_is_closed_at_all_that_was_held(agent_key: str, clock: Clock) -> None:
    call = opened(agent_key)
    run_job(call.job_id)
    assert Hold.objects.get().state == Hold.State.OPEN
    clock.advance(seconds=LEASE.total_seconds() + 1)
    run_job(call.job_id)
    hold = Hold.objects.get()
    assert (hold.state, hold.cost_nano) == (Hold.State.SETTLED, call.held_nano)
    assert LedgerEntry.objects.get().source == "estimated"
    assert Job.objects.get().state == Job.State.DONE


def test_a_gateway_that_was_only_frozen_does_not_settle_again(agent_key: str, clock: Clock) -> None:
    call = opened(agent_key)
    clock.advance(seconds=LEASE.total_seconds() + 1)
    run_job(call.job_id)
    closing.close_call(call, heard_of(USAGE))
    assert LedgerEntry.objects.get().cost_nano == call.held_nano
    assert Job.objects.get().state == Job.State.DONE


def test_a_running_call_keeps_its_lease_and_its_hold(
    agent_key: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = opened(agent_key)
    clock.advance(seconds=LEASE.total_seconds() - 1)
    assert closing.keep_calls_open([call]) == {}
    clock.advance(seconds=LEASE.total_seconds() - 1)
    run_job(call.job_id)
    assert Hold.objects.get().state == Hold.State.OPEN
    expires = Hold.objects.get().expires_at
    monkeypatch.setattr(closing, "EXTEND_BEFORE", opening.HOLD_TTL)
    extended = closing.keep_calls_open([call])
    assert list(extended) == [call.job_id]
    assert Hold.objects.get().expires_at > expires
    closing.close_call(call, heard_of(USAGE))


def test_a_cap_that_is_spent_refuses_and_pauses(project: Project, agent_key: str) -> None:
    call = opened(agent_key)
    key_id = call.caller.key_id
    cap_on(spender_of(project, session=call.session_id, key=key_id, model="gpt-4o"), "session", CENT)
    closing.close_call(call, heard_of({"prompt_tokens": 20, "completion_tokens": 999}))
    refusal = opening.open_call(wanted(agent_key))
    assert isinstance(refusal, ProblemError)
    assert (refusal.status, refusal.code) == (402, "cap_reached")
    assert AgentSession.objects.get().state == AgentSession.State.PAUSED


def test_open_calls_that_fill_a_cap_make_the_next_one_wait(project: Project, agent_key: str) -> None:
    first = opened(agent_key)
    spender = spender_of(project, session=first.session_id, key=first.caller.key_id, model="gpt-4o")
    cap_on(spender, "session", CENT)
    held = opened(agent_key, max_tokens=800)
    refusal = opening.open_call(wanted(agent_key, max_tokens=800))
    assert isinstance(refusal, ProblemError)
    assert (refusal.status, refusal.code, "Retry-After" in refusal.headers) == (429, "cap_busy", True)
    for call in (first, held):
        closing.void_call(call)


def test_what_cannot_fit_is_refused_before_it_costs_anything(agent_key: str) -> None:
    long = [{"role": "user", "content": "word " * 10_000}]
    with pytest.raises(ContextTooLarge, match="max allowed is 8,192 tokens"):
        opening.open_call(wanted(agent_key, model="gpt-4", messages=long))
    # A model that nobody knows may have any window.
    assert isinstance(opening.open_call(wanted(agent_key, model="our-own-model", messages=long)), OpenCall)


def test_a_beta_for_long_contexts_widens_the_window(agent_key: str) -> None:
    long = [{"role": "user", "content": "word " * 300_000}]
    asked: Any = {"protocol": MESSAGES, "model": "claude-haiku-4-5", "messages": long}
    with pytest.raises(ContextTooLarge):
        opening.open_call(wanted(agent_key, **asked))
    assert isinstance(opening.open_call(wanted(agent_key, beta="context-1m-2025-08-07", **asked)), OpenCall)


def test_a_message_is_counted_once_however_often_it_is_sent(
    agent_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = [{"role": "user", "content": f"Only here {number}"} for number in range(5)]
    first = opened(agent_key, messages=history)
    monkeypatch.setattr("gateway.measuring._weigh", lambda *_: pytest.fail("weighed again"))
    assert opened(agent_key, messages=history).measured == first.measured


def test_bad_keys_and_wrong_scopes_are_refused(project: Project, read_key: str) -> None:
    with pytest.raises(Unauthenticated):
        opening.open_call(wanted("ctxb_" + "x" * 40))
    with pytest.raises(ProblemError, match="lacks the scope agent"):
        opening.open_call(wanted(read_key))


def test_a_revoked_key_is_refused_within_a_second(
    project: Project, agent_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(agent_key)
    revoke_api_key(key=ApiKey.objects.get(), actor="system")
    assert opening._CALLER_SECONDS < 1
    later = opening.time.monotonic() + opening._CALLER_SECONDS + 0.01
    monkeypatch.setattr(opening.time, "monotonic", lambda: later)
    with pytest.raises(Unauthenticated):
        opening.open_call(wanted(agent_key))


@pytest.mark.parametrize("ref", ["sess_unknown", "ext:with space", "ext:" + "x" * 129, "ext:"])
def test_a_session_that_cannot_be_is_not_opened(agent_key: str, ref: str) -> None:
    with pytest.raises(ProblemError) as refusal:
        opening.open_call(wanted(agent_key, ref=ref))
    assert refusal.value.status in (400, 404)
    assert not AgentSession.objects.exists()


def test_another_projects_session_is_not_found(agent_key: str, other_key: str) -> None:
    theirs = opened(other_key).session_id
    with pytest.raises(NotFound):
        opening.open_call(wanted(agent_key, ref=theirs))
    assert opened(agent_key, ref="ext:run").session_id != theirs


def test_without_a_header_each_conversation_has_its_session(project: Project, agent_key: str) -> None:
    first = opened(agent_key, ref="")
    again = opened(agent_key, ref="", messages=[HI, {"role": "assistant", "content": "x"}, HI])
    other = opened(agent_key, ref="", messages=[{"role": "user", "content": "Ho"}])
    second_key = create_api_key(project=project, scopes=["agent"]).secret
    strangers = opened(second_key, ref="")
    assert first.session_source == "derived"
    assert first.session_id == again.session_id
    assert len({first.session_id, other.session_id, strangers.session_id}) == 3


def test_a_chained_call_is_held_with_what_lies_behind_it(agent_key: str) -> None:
    asked: Any = {"protocol": RESPONSES, "max_output_tokens": 10}
    first = opened(agent_key, ref="", input="Hi", **asked)
    usage = {"input_tokens": 5000, "output_tokens": 10, "input_tokens_details": {}}
    response = {"id": "resp_1", "object": "response", "output": [], "usage": usage}
    closing.close_call(first, Heard(response=response, usage=usage, response_id="resp_1", complete=True))
    run_job(first.job_id)
    second = opened(agent_key, ref="", input="And?", previous_response_id="resp_1", **asked)
    assert second.session_id == first.session_id
    assert second.held_nano >= 5000 * 2500
