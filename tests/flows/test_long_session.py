"""Thousands of turns through three models and a dozen compactions: nothing over, nothing lost."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sessions.models import Message
from tests.api.client import Api
from tests.proofs.racing import FULL
from tests.session_calls import contents, opened, originals, record, row_of, work_off

TURNS = 2_000 if FULL else 400
COMPACTIONS = 12
MODELS = ("gpt-4-32k", "gpt-4", "gpt-3.5-turbo")
GOAL = "Bring the ledger of the Aurora to port."
PIN = "Rule one: the blue lever stays up."
SYSTEM = "You are the ship's clerk."
pytestmark = pytest.mark.django_db


def turn(number: int, dice: random.Random) -> list[dict[str, Any]]:
    """A question and an answer; every fourth time with a tool call in between."""
    words = " ".join(
        dice.choice(("crate", "ledger", "north", "harbour", "rope")) for _ in range(dice.randint(10, 90))
    )
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"[{number}] Where is crate {7919 * number}? {words}"}
    ]
    if number % 4 == 0:
        call = {"id": f"c{number}", "type": "function", "function": {"name": "find", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"shelf {number} " + words},
        ]
    return [*messages, {"role": "assistant", "content": f"On shelf {number}. {words}"}]


def said(turn_messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "message", "message": message} for message in turn_messages]


def check(api: Api, session: str, number: int) -> None:
    answer = api.post(f"{session}/context", {"query": f"Where is crate {7919 * (number // 2)}?"})
    assert answer.status_code == 200, answer.content
    body = answer.json()
    report = body["report"]
    assert report["tokens_high"] <= report["max_input"]
    assert report["valid"] and report["format_problems"] == []
    assert SYSTEM in body["system"] and GOAL in body["system"]
    sent = str(contents(body["messages"]))
    assert PIN in sent
    assert f"[{number}] Where" in sent


def test_a_long_session_stays_within_its_limits_and_loses_nothing(api: Api) -> None:
    dice = random.Random(2026)
    session = opened(api, model=MODELS[0], goal=GOAL)
    api.put(f"{session}/sections/system_prompt", {"content": SYSTEM})
    record(api, session, {"type": "message", "message": {"role": "user", "content": PIN}, "pinned": True})
    expected: list[Any] = [PIN]
    # Most turns are spoken to the small models: that is where things get tight.
    switches = {TURNS // 4: MODELS[1], TURNS // 2: MODELS[2]}
    for number in range(1, TURNS + 1):
        if number in switches:
            api.patch(session, {"model": switches[number]})
        messages = turn(number, dice)
        expected += contents(messages)
        record(api, session, *said(messages))
        if number % 10 == 0:
            work_off()
        if number % 5 == 0:
            check(api, session, number)
    row = row_of(session)
    assert row.compactions >= COMPACTIONS
    stored = originals(api, session)
    assert [item["message"]["content"] for item in stored] == expected
    assert [item["seq"] for item in stored] == list(range(1, row.head_seq + 1))
    for number in dice.sample(range(1, TURNS), 5):
        hits = api.get(f"{session}/messages?limit=5&q=crate%20{7919 * number}").json()["items"]
        assert f"[{number}] Where" in str([hit["message"]["content"] for hit in hits])
    assert Message.objects.filter(session=row).count() == row.head_seq
