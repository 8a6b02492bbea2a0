"""POST /sessions/{id}/events."""

from __future__ import annotations

from typing import Any

import pytest

from sessions.models import AgentSession, Message, ReportedEvent
from tests.api.client import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(api: Api) -> str:
    answer = api.post("/sessions", {"model": "gpt-4", "profile": "ratio-default", "external_id": "run-1"})
    assert answer.status_code == 201, answer.content
    return f"/sessions/{answer.json()['id']}"


def message(event_id: str, content: Any, role: str = "user") -> dict[str, Any]:
    return {"event_id": event_id, "type": "message", "message": {"role": role, "content": content}}


def usage(event_id: str, prompt: int, output: int = 0) -> dict[str, Any]:
    return {"event_id": event_id, "type": "usage", "usage": {"input_tokens": prompt, "output_tokens": output}}


def test_it_answers_as_the_contract_shows(api: Api, session: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    events = [
        message("e1", "list the files"),
        {
            "event_id": "e2",
            "type": "message",
            "message": {"role": "assistant", "content": None, "tool_calls": [call]},
        },
        {
            "event_id": "e3",
            "type": "message",
            "message": {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
        },
        {
            "event_id": "e4",
            "type": "usage",
            "usage": {
                "input_tokens": 5571,
                "output_tokens": 200,
                "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": 0,
            },
        },
        {"event_id": "e5", "type": "phase", "phase": "build"},
    ]
    answer = api.post(f"{session}/events", {"events": events})
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert (body["accepted"], body["duplicates"]) == (5, 0)
    budget = body["budget"]
    assert (budget["used"], budget["total"]) == (5571, 6553)
    assert round(budget["usage_ratio"], 2) == 0.85
    assert round(budget["window_ratio"], 2) == 0.68
    assert budget["level"] == "warning"
    assert budget["flags"] == {"warning": True, "compact": False}
    assert budget["message"] == "[Budget] Warning: 85% of token budget used. 982 tokens remaining."
    assert [signal["kind"] for signal in body["signals"]] == ["BUDGET_WARNING"]


def test_it_records_an_event_id_once(api: Api, session: str) -> None:
    events = [message("e1", "hello"), usage("u1", 100, 5)]
    first = api.post(f"{session}/events", {"events": events}).json()
    second = api.post(f"{session}/events", {"events": [*events, message("e2", "more")]}).json()
    assert (first["accepted"], second["accepted"], second["duplicates"]) == (2, 1, 2)
    stored = AgentSession.objects.get(external_id="run-1")
    assert (stored.head_seq, stored.turns, stored.input_tokens) == (2, 1, 100)
    assert Message.objects.count() == 2


def test_it_skips_an_event_id_that_stands_twice_in_one_batch(api: Api, session: str) -> None:
    body = api.post(f"{session}/events", {"events": [message("e1", "a"), message("e1", "b")]}).json()
    assert (body["accepted"], body["duplicates"]) == (1, 1)


def test_it_replays_the_answer_to_a_repeated_idempotency_key(api: Api, session: str) -> None:
    batch = {"events": [message("", "hello") | {"event_id": None}]}
    batch["events"][0].pop("event_id")
    headers = {"Idempotency-Key": "k-1"}
    first = api.post(f"{session}/events", batch, headers=headers)
    second = api.post(f"{session}/events", batch, headers=headers)
    assert first.content == second.content
    assert second.headers["Idempotency-Replayed"] == "true"
    assert Message.objects.count() == 1


def test_it_returns_content_unchanged_nul_and_lone_surrogates_included(api: Api, session: str) -> None:
    content = "NUL \x00, lone \ud800, café, 漢字"
    answer = api.post(f"{session}/events", {"events": [message("e1", content)]})
    assert answer.status_code == 201, answer.content
    stored = api.get(f"{session}/messages").json()["items"][0]
    assert stored["message"]["content"] == content


def test_it_replaces_usage_that_is_reported_again_for_one_response(api: Api, session: str) -> None:
    for event_id, output in (("u1", 1), ("u2", 40)):
        event = {
            "event_id": event_id,
            "type": "usage",
            "response_id": "resp_1",
            "usage": {"input_tokens": 500, "output_tokens": output},
        }
        api.post(f"{session}/events", {"events": [event]})
    stored = AgentSession.objects.get(external_id="run-1")
    assert (stored.turns, stored.input_tokens, stored.output_tokens) == (1, 500, 40)


def test_it_keeps_unknown_events_and_ignores_them(api: Api, session: str) -> None:
    body = api.post(
        f"{session}/events", {"events": [{"event_id": "x", "type": "moon_phase", "phase": "full"}]}
    ).json()
    assert body["accepted"] == 1
    assert ReportedEvent.objects.get().kind == "unknown"


@pytest.mark.parametrize("events", [[], [{"type": "note", "text": "n"}] * 1001])
def test_it_refuses_an_empty_or_oversized_batch(api: Api, session: str, events: list[Any]) -> None:
    assert api.post(f"{session}/events", {"events": events}).status_code == 422


def test_it_refuses_a_message_that_is_too_long_and_changes_nothing(api: Api, session: str) -> None:
    events = [message("e1", "fine"), message("e2", "a" * 1_048_577)]
    answer = api.post(f"{session}/events", {"events": events})
    assert (answer.status_code, answer.json()["code"]) == (413, "message_too_large")
    assert not Message.objects.exists()


def test_it_finds_a_session_by_the_agents_own_id(api: Api, session: str) -> None:
    assert api.post("/sessions/ext:run-1/events", {"events": [message("e1", "hi")]}).status_code == 201


def test_it_hides_another_tenants_session(api: Api, session: str, other_key: str) -> None:
    foreign = api.post(f"{session}/events", {"events": [message("e1", "hi")]}, key=other_key)
    random = api.post("/sessions/sess_nothing/events", {"events": [message("e1", "hi")]}, key=other_key)
    assert foreign.status_code == random.status_code == 404
    assert foreign.json()["detail"] == random.json()["detail"]
