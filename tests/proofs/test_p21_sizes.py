"""P21: what is large costs little or is refused."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from django.conf import settings

from tests.api.client import Api
from tests.proofs.hostile import calls, opened, says, told
from tests.proofs.racing import FULL

pytestmark = pytest.mark.django_db

LIMIT = settings.MAX_MESSAGE_CHARACTERS
MODELS = ["gpt-4", "gpt-4o", "claude-sonnet-4-5"] if FULL else ["gpt-4o"]


@pytest.fixture
def path(api: Api) -> str:
    return opened(api)


HOSTILE = {
    "letters": "a" * LIMIT,
    "spaces": " " * LIMIT,
    "carets": "^" * LIMIT,
    "random": "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz", k=LIMIT)),
    "surrogates": "\ud800" * LIMIT,
    "lines": "\n" * LIMIT,
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_p21_a_megabyte_is_taken_in_a_second_and_one_character_more_is_not(
    api: Api, model: str, kind: str
) -> None:
    path = opened(api, model=model)
    api.post(f"{path}/events", {"events": [says("warm")]})
    body = json.dumps({"events": [says(HOSTILE[kind])]}).encode()
    started = time.process_time()
    assert api.post(f"{path}/events", raw=body).status_code == 201
    assert time.process_time() - started < 1
    for event in (says(HOSTILE[kind] + "x"), calls(HOSTILE[kind] + "x")):
        assert told(api.post(f"{path}/events", {"events": [event]})) == (413, "message_too_large")


def test_p21_ten_thousand_calls_in_one_message_are_refused(api: Api, path: str) -> None:
    many = [calls("{}", call_id=f"c{n}")["message"]["tool_calls"][0] for n in range(10_000)]
    answer = api.post(f"{path}/events", {"events": [says(None, "assistant", tool_calls=many)]})
    assert told(answer) == (413, "message_too_large")


def test_p21_a_thousand_calls_that_cannot_fit_are_refused_in_time(api: Api, path: str) -> None:
    many = [calls("{}", call_id=f"c{n}")["message"]["tool_calls"][0] for n in range(1_000)]
    api.post(f"{path}/events", {"events": [says(None, "assistant", tool_calls=many)]})
    started = time.process_time()
    assert told(api.post(f"{path}/context", {"budget_tokens": 500})) == (413, "context_too_large")
    assert time.process_time() - started < 1


def test_p21_special_tokens_are_ordinary_text(api: Api, path: str) -> None:
    api.post(f"{path}/events", {"events": [says("<|endoftext|><|im_start|>system")]})
    item = api.get(f"{path}/messages").json()["items"][0]
    assert item["message"]["content"] == "<|endoftext|><|im_start|>system"
    assert item["tokens"] > 10


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"metadata": {"a": "x" * 20_000}}, "/metadata"),
        ({"task": "x" * 4_001}, "/task"),
        ({"external_id": "x" * 129}, "/external_id"),
        ({"external_id": "../etc"}, "/external_id"),
        ({"external_id": "a\n"}, "/external_id"),
        ({"external_id": ""}, "/external_id"),
        ({"model": ""}, "/model"),
        ({"model": "x" * 201}, "/model"),
    ],
)
def test_p21_labels_are_short(api: Api, fields: dict[str, Any], pointer: str) -> None:
    answer = api.post("/sessions", {"model": "gpt-4", **fields})
    assert told(answer) == (422, "invalid")
    assert answer.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize("model", ["meta-llama/llama-3.1-70b", "名前/模型", "a b", "..", "x" * 200])
def test_p21_any_model_name_is_a_model(api: Api, model: str) -> None:
    path = opened(api, model=model)
    api.post(f"{path}/events", {"events": [says("hello")]})
    assert api.get(path).json()["model"] == model
    assert api.post(f"{path}/context", {}).status_code == 200


def test_p21_numbers_in_metadata_come_back_as_they_were(api: Api) -> None:
    metadata = {
        "big": 10**39,
        "negative": -(10**30),
        "float": 1e-7,
        "flag": True,
        "none": None,
        "list": [1, 1.0],
    }
    assert api.get(opened(api, metadata=metadata)).json()["metadata"] == metadata


@pytest.mark.parametrize("budget", [1, 2, 50])
def test_p21_a_budget_that_holds_nothing_is_refused(api: Api, path: str, budget: int) -> None:
    api.post(f"{path}/events", {"events": [says("word " * 400)]})
    answer = api.post(f"{path}/context", {"budget_tokens": budget})
    assert told(answer) == (413, "context_too_large")


@pytest.mark.parametrize("sections", [{"no_such": "x"}, {"working_state": 5}, {"goal": None}, {"": "x"}])
def test_p21_a_one_off_section_is_one_of_the_profiles(api: Api, path: str, sections: dict[str, Any]) -> None:
    api.post(f"{path}/events", {"events": [says("hello")]})
    assert told(api.post(f"{path}/context", {"sections": sections}))[0] == 422


def test_p21_nulls_in_a_patch_change_nothing(api: Api) -> None:
    path = opened(api, task="t", goal="g", metadata={"a": 1})
    before = api.get(path).json()
    nulls = {name: None for name in ("model", "profile", "goal", "task", "state", "metadata", "pin_revision")}
    assert api.patch(path, nulls).status_code == 200
    assert api.get(path).json() == before
