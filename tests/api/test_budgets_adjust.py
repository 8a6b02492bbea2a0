"""POST /budgets/adjust: a budget scaled to another total."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.client import Api

URL = "/budgets/adjust"


def test_it_scales_every_section(api: Api) -> None:
    budget = api.post("/budgets/calculate", {"total": 6400}).json()
    body = api.post(URL, {"budget": budget, "new_total": 25_600}).json()
    assert body["total"] == 25_600
    assert body["sections"] == {name: 4 * tokens for name, tokens in budget["sections"].items()}
    assert body["unallocated"] == 0


def test_it_takes_a_flat_budget_too(api: Api) -> None:
    flat = {"total": 6553, "memory": 655, "recent_messages": 2293}
    body = api.post(URL, {"budget": flat, "new_total": 160_000}).json()
    assert body["sections"]["memory"] == 15_992


def test_its_own_answer_can_be_scaled_again(api: Api) -> None:
    once = api.post(URL, {"budget": {"total": 100, "memory": 10}, "new_total": 200}).json()
    assert api.post(URL, {"budget": once, "new_total": 100}).json()["sections"] == {"memory": 10}


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({"budget": {"total": 0, "memory": 1}, "new_total": 10}, "zero_total", "/budget/total"),
        ({"budget": {"memory": 1}, "new_total": 10}, "zero_total", "/budget/total"),
        ({"budget": {"total": 10, "memory": -1}, "new_total": 10}, "invalid", "/budget/memory"),
        ({"budget": {"total": 10}, "new_total": -5}, "invalid", "/new_total"),
        ({"budget": {"total": True}, "new_total": 5}, "invalid", "/budget/total"),
        ({"budget": [1], "new_total": 5}, "invalid", "/budget"),
        ({"budget": {"total": 5, "sections": {}, "colour": 1}, "new_total": 5}, "unknown_field", "/budget"),
        ({"budget": {"total": 5}}, "invalid", "/new_total"),
    ],
)
def test_it_names_the_field_that_is_wrong(api: Api, body: dict[str, Any], code: str, pointer: str) -> None:
    answer = api.post(URL, body)
    assert answer.status_code == 422
    assert answer.json()["code"] == code
    assert answer.json()["errors"][0]["pointer"] == pointer
