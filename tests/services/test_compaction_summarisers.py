"""Summaries by a model: what is sent, accepted and paid, and when the built-in one takes over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import LazySettings

from budgets.models import Hold, LedgerEntry
from sessions.models import Summary
from sessions.services.store import from_bytes
from tests.api.client import Api
from tests.core.providers.model_server import Answer, Asked, ModelServer, anthropic_answer, openai_answer
from tests.money import books_balance
from tests.services_processes import free_port
from tests.session_calls import compacted, context, opened, profiled, row_of, say, turns, user

__all__ = ["books_balance"]
pytestmark = pytest.mark.django_db

GOOD = "The user asked about modules; src/module_0.py adds up order 1000. Format v3 was kept."


@pytest.fixture
def manager(manage_key: str) -> Api:
    return Api(key=manage_key)


@pytest.fixture
def model(settings: LazySettings, manager: Api) -> Iterator[ModelServer]:
    server = ModelServer(lambda asked: openai_answer(GOOD))
    settings.SUMMARISER_URL, settings.SUMMARISER_MODEL = server.url, "gpt-4-32k"
    settings.SUMMARISER_API_KEY = "sk-test-0000000000000000000000000"
    profiled(manager, "by-model", "ratio-default", compaction={"summariser": "openai"})
    yield server
    server.stop()


def long_session(api: Api, profile: str = "by-model", **fields: Any) -> str:
    session = opened(api, profile=profile, **fields)
    say(api, session, *turns(30))
    return session


def summary_of(result: dict[str, Any]) -> str:
    text: str = from_bytes(Summary.objects.get(pk=result["summary"]).body)
    return text


def everything(asked: list[Asked]) -> str:
    return "\n".join(message["content"] for call in asked for message in call.body["messages"])


def test_a_model_s_summary_is_committed_with_its_back_reference(api: Api, model: ModelServer) -> None:
    result = compacted(api, long_session(api))
    assert (result["source"], result["fallback"]) == ("gpt-4-32k", None)
    assert summary_of(result) == f"Summary of messages 1–{result['to_seq']}.\n{GOOD}"
    assert "Question 0:" in everything(model.asked)


def test_the_earlier_summary_is_folded_in(api: Api, model: ModelServer) -> None:
    session = long_session(api)
    compacted(api, session)
    say(api, session, *turns(30, first=30))
    model.asked.clear()
    compacted(api, session)
    assert GOOD in everything(model.asked)


def test_anthropic_is_spoken_too(api: Api, model: ModelServer, manager: Api, settings: LazySettings) -> None:
    settings.SUMMARISER_MODEL = "claude-3-opus"
    profiled(manager, "by-claude", "ratio-default", compaction={"summariser": "anthropic"})
    model.script = [anthropic_answer(GOOD)]
    result = compacted(api, long_session(api, "by-claude"))
    assert (result["source"], result["fallback"]) == ("claude-3-opus", None)
    assert model.asked[0].path == "/v1/messages"


def test_long_input_is_sent_in_chunks_and_nothing_of_it_is_lost(
    api: Api, model: ModelServer, settings: LazySettings
) -> None:
    settings.SUMMARISER_MODEL = "gpt-3.5-turbo"  # 4,096 tokens
    session = long_session(api, model="gpt-4-32k")
    say(api, session, user("A single long one: " + " ".join(f"w{n}" for n in range(6000)) + " the end."))
    say(api, session, *turns(60, first=30))
    result = compacted(api, session)
    assert len(model.asked) > 3
    sent = everything(model.asked)
    assert "Question 0:" in sent and "w0 " in sent and "w5999" in sent and "the end." in sent
    assert result["fallback"] is None


def test_secrets_do_not_leave(api: Api, model: ModelServer) -> None:
    session = opened(api, profile="by-model")
    say(api, session, user("My key is AKIAABCDEFGHIJKLMNOP, mail bob@example.com."), *turns(30))
    compacted(api, session)
    sent = everything(model.asked)
    assert "AKIAABCDEFGHIJKLMNOP" not in sent and "bob@example.com" not in sent
    assert "[masked aws_access_key]" in sent


# What is not accepted


def test_a_summary_that_loses_something_needed_gets_one_more_try(api: Api, model: ModelServer) -> None:
    session = long_session(api, goal="Move src/module_7.py and keep order 1003")
    kept = "Moved src/module_7.py; module_7 handles order 1003."
    model.script = [openai_answer("They talked about files."), openai_answer(kept)]
    result = compacted(api, session)
    assert result["fallback"] is None
    assert kept in summary_of(result)
    assert "src/module_7.py" in model.asked[1].body["messages"][1]["content"].split("Question 0:")[0]
    checks = Summary.objects.get(pk=result["summary"]).checks
    assert (checks["tries"], checks["missing"]) == (["lost", "accepted"], [])


def test_a_summary_that_loses_it_twice_is_replaced_by_the_built_in_one(api: Api, model: ModelServer) -> None:
    session = long_session(api, goal="Move src/module_7.py and keep order 1003")
    model.script = [openai_answer("They talked about files.")] * 2
    result = compacted(api, session)
    assert (result["source"], result["fallback"]) == ("builtin", "lost")
    text = summary_of(result)
    assert "src/module_7.py" in text and "1003" in text
    assert result["checked"]["paths"] >= 1
    assert Summary.objects.get(pk=result["summary"]).checks["missing"] == []


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([openai_answer("")] * 2, "empty"),
        ([openai_answer("I'm sorry, but I cannot help with that.")] * 2, "refusal"),
        ([openai_answer("Error: upstream timed out")] * 2, "error_text"),
        ([openai_answer("cut off", finish="length")] * 2, "truncated"),
        ([openai_answer("word " * 4000)] * 2, "too_long"),
        ([Answer(status=401, body={"error": {"message": "bad key"}})], "refused_request"),
        ([Answer(status=200, body={"choices": []})], "unexpected_answer"),
    ],
)
def test_what_is_no_summary_is_never_committed(
    api: Api, model: ModelServer, answers: list[Answer], reason: str
) -> None:
    model.script = list(answers)
    result = compacted(api, long_session(api))
    assert (result["source"], result["fallback"]) == ("builtin", reason)
    assert len(model.asked) == len(answers)
    assert summary_of(result).startswith("Summary of messages 1–")
    assert result["after"] < result["before"]


def test_a_second_try_may_succeed(api: Api, model: ModelServer) -> None:
    model.script = [openai_answer("")]
    assert compacted(api, long_session(api))["fallback"] is None


def test_an_endpoint_that_cannot_be_reached_falls_back(
    api: Api, model: ModelServer, settings: LazySettings
) -> None:
    settings.SUMMARISER_URL = f"http://127.0.0.1:{free_port()}"
    assert compacted(api, long_session(api))["fallback"] == "unreachable"


def test_a_summariser_that_is_not_configured_falls_back(
    api: Api, model: ModelServer, settings: LazySettings
) -> None:
    settings.SUMMARISER_MODEL = ""
    assert compacted(api, long_session(api))["fallback"] == "not_configured"
    assert model.asked == []


def test_the_result_says_what_was_checked(api: Api) -> None:
    session = opened(api, goal="Watch src/module_2.py")
    say(api, session, *turns(30))
    result = compacted(api, session)
    assert result["checked"]["paths"] == 1
    assert "src/module_2.py" in summary_of(result)
    assert "src/module_2.py" in str(context(api, session)["messages"])


# What it costs


def test_tokens_and_cost_belong_to_the_session(api: Api, model: ModelServer) -> None:
    session = long_session(api)
    compacted(api, session)
    entry = LedgerEntry.objects.get()
    assert (entry.kind, entry.input_tokens, entry.output_tokens) == ("summariser", 100, 20)
    row = row_of(session)
    assert (row.input_tokens, row.output_tokens, row.turns) == (100, 20, 0)
    assert row.spent_nano == entry.cost_nano == 100 * 60_000 + 20 * 120_000
    assert not Hold.objects.filter(state=Hold.State.OPEN).exists()


def test_failed_tries_are_paid_for_as_well(api: Api, model: ModelServer) -> None:
    model.script = [openai_answer("")] * 2
    session = long_session(api)
    assert compacted(api, session)["source"] == "builtin"
    assert LedgerEntry.objects.get().input_tokens == 200


def test_a_cap_without_room_keeps_the_model_from_being_asked(
    api: Api, model: ModelServer, manager: Api
) -> None:
    session = long_session(api)
    cap = {"scope": "session", "scope_id": session.removeprefix("/sessions/"), "limit_usd": "0.0001"}
    assert manager.post("/caps", cap).status_code == 201
    result = compacted(api, session)
    assert (result["source"], result["fallback"]) == ("builtin", "cap_reached")
    assert model.asked == []
    assert row_of(session).state == "active"


def test_an_answer_without_usage_is_counted_by_us(api: Api, model: ModelServer) -> None:
    answer = openai_answer(GOOD)
    model.script = [Answer(body={name: value for name, value in answer.body.items() if name != "usage"})]
    session = long_session(api)
    compacted(api, session)
    assert LedgerEntry.objects.get().input_tokens > 1000
