"""POST /sessions/{id}/context."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.client import Api

pytestmark = pytest.mark.django_db


def opened(api: Api, **fields: Any) -> str:
    answer = api.post("/sessions", {"model": "gpt-4", **fields})
    assert answer.status_code == 201, answer.content
    return f"/sessions/{answer.json()['id']}"


def say(api: Api, session: str, *messages: dict[str, Any]) -> dict[str, Any]:
    events = [{"type": "message", "message": message} for message in messages]
    answer = api.post(f"{session}/events", {"events": events})
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def tool_turn(number: int, output: str) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": output},
    ]


def context(api: Api, session: str, **wish: Any) -> dict[str, Any]:
    answer = api.post(f"{session}/context", wish)
    assert answer.status_code == 200, answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_it_returns_a_short_conversation_whole(api: Api) -> None:
    session = opened(api, goal="Find the bug")
    say(api, session, user("hello"), assistant("hi"), user("look at app.py"))
    body = context(api, session)
    assert body["model"] == "gpt-4"
    assert "Find the bug" in body["system"]
    assert [m["content"] for m in body["messages"] if m["role"] == "assistant"] == ["hi"]
    assert body["messages"][-1] == {"role": "user", "content": "look at app.py"}
    report = body["report"]
    assert report["valid"] and report["format_problems"] == []
    assert report["tokens"] <= report["max_input"] == 6553
    assert report["dropped_unsummarised"] == 0
    assert (report["turns_kept"], report["turns_offered"]) == (3, 3)
    names = [row["name"] for row in report["sections"]]
    assert {"system_prompt", "goal", "recent_messages"} <= set(names)


def test_it_counts_what_falls_out_and_makes_compaction_due(api: Api) -> None:
    session = opened(api)
    for number in range(30):
        say(api, session, user(f"question {number} " + "word " * 100), assistant("answer " * 150))
    body = context(api, session)
    report = body["report"]
    assert report["valid"]
    assert report["tokens"] <= report["max_input"]
    assert report["dropped_unsummarised"] > 0
    kinds = {job["kind"] for job in api.get("/jobs").json()["items"]}
    assert "compact_session" in kinds


def test_it_keeps_tool_calls_with_their_results(api: Api) -> None:
    session = opened(api)
    say(api, session, user("list everything"))
    for number in range(25):
        say(api, session, *tool_turn(number, "file.py " * 120))
    body = context(api, session, format="anthropic")
    assert body["report"]["format_problems"] == []
    assert body["messages"][0]["role"] == "user"


def test_it_keeps_the_prefix_stable_between_turns(api: Api) -> None:
    session = opened(api)
    for number in range(12):
        say(api, session, user(f"q{number} " + "word " * 40), assistant("a " * 60))
    first = context(api, session)
    say(api, session, user("one more"), assistant("fine"))
    second = context(api, session)
    assert second["report"]["prefix_stable_tokens"] >= first["report"]["tokens"] * 9 // 10


def test_it_honours_a_smaller_budget_for_one_call(api: Api) -> None:
    session = opened(api)
    for number in range(10):
        say(api, session, user(f"q{number} " + "word " * 40), assistant("a " * 60))
    assert context(api, session, budget_tokens=600)["report"]["tokens"] <= 600
    assert context(api, session)["report"]["dropped_unsummarised"] == 0


def test_it_refuses_with_numbers_what_cannot_fit(api: Api) -> None:
    session = opened(api)
    api.put(f"{session}/sections/system_prompt", {"content": "rule " * 9000})
    say(api, session, user("hello"))
    answer = api.post(f"{session}/context", {})
    assert (answer.status_code, answer.json()["code"]) == (413, "context_too_large")
    body = answer.json()
    assert body["detail"].startswith("Context too large for model gpt-4: input uses ")
    assert body["max_input"] == 6553
    assert body["remedies"] and body["sections"]


def test_it_stores_the_proof(api: Api) -> None:
    session = opened(api)
    say(api, session, user("hello"))
    report = context(api, session)["report"]
    listed = api.get(f"{session}/assemblies").json()["items"]
    assert [row["id"] for row in listed] == [report["assembly"]]
    by_number = api.get(f"{session}/assemblies/1").json()
    assert by_number["report"]["tokens"] == report["tokens"]


def test_it_uses_one_off_sections_and_memory(api: Api) -> None:
    session = opened(api)
    api.post(f"{session}/memory", {"kind": "preference", "text": "prefers tabs", "pinned": True})
    say(api, session, user("hello"))
    body = context(api, session, sections={"working_state": "editing app.py"})
    sent = body["system"] + str(body["messages"])
    assert "prefers tabs" in sent
    assert "editing app.py" in sent


def test_a_switched_model_rebudgets_and_says_that_it_overflows(api: Api) -> None:
    session = opened(api, model="claude-3-opus")
    for _ in range(20):
        say(api, session, user("word " * 200), assistant("answer " * 200))
    body = api.patch(session, {"model": "gpt-3.5-turbo"}).json()
    assert body["budget"]["total"] == 3276
    assert body["budget"]["over"]
    assert any(job["kind"] == "compact_session" for job in api.get("/jobs").json()["items"])


@pytest.mark.parametrize("wish", [{"format": "xml"}, {"max_output": -1}, {"mode": "combat"}, {"bogus": 1}])
def test_it_refuses_a_bad_wish(api: Api, wish: dict[str, Any]) -> None:
    session = opened(api)
    say(api, session, user("hello"))
    assert api.post(f"{session}/context", wish).status_code == 422
