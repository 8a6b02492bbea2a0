"""POST /budgets/compare: one profile over many models."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from tests.api.client import Api

URL = "/budgets/compare"


def test_every_model_has_its_row_in_the_order_asked(api: Api) -> None:
    body = api.post(URL, {"profile": "ratio-default", "models": ["gpt-4", "claude-3-opus", "nope"]}).json()
    assert body["profile"] == "ratio-default"
    assert [row["model"] for row in body["models"]] == ["gpt-4", "claude-3-opus", "nope"]
    assert [row["total"] for row in body["models"]] == [6553, 160_000, 25_600]
    assert [row["source"] for row in body["models"]] == ["catalogue", "catalogue", "fallback"]


def test_its_rows_are_what_calculate_answers(api: Api) -> None:
    row = api.post(URL, {"profile": "long-story", "models": ["gemini-2.0-flash"]}).json()["models"][0]
    alone = api.post("/budgets/calculate", {"profile": "long-story", "model": "gemini-2.0-flash"}).json()
    assert {key: row[key] for key in alone} == alone
    assert row["total"] == 240_000


def test_a_model_without_room_says_why_beside_the_others(api: Api, manage_key: str) -> None:
    api.post("/models/override", {"name": "tiny", "context_window": 500}, key=manage_key)
    rows = api.post(URL, {"profile": "long-story", "models": ["tiny", "gpt-4"]}).json()["models"]
    assert "No room for input" in rows[0]["refusal"]
    assert rows[1]["refusal"] is None


@pytest.mark.parametrize("models", [[], ["x"] * 201, "gpt-4", [1]])
def test_it_refuses_other_than_1_to_200_names(api: Api, models: object) -> None:
    assert api.post(URL, {"models": models}).status_code == 422


def test_many_models_cost_no_more_queries_than_one(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    api.post(URL, {"models": ["gpt-4"]})
    # The key, the profile, the overrides, the prices.
    with django_assert_num_queries(4):
        api.post(URL, {"models": [f"model-{number}" for number in range(100)]})
