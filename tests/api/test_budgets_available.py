"""POST /budgets/available: what is left, over-use never hidden."""

from __future__ import annotations

from tests.api.client import Api

URL = "/budgets/available"
BUDGET = {"total": 1000, "memory": 100, "recent_messages": 350}


def test_what_is_not_used_is_left(api: Api) -> None:
    body = api.post(URL, {"budget": BUDGET, "used": {"memory": 40}}).json()
    assert body == {"total": 960, "sections": {"memory": 60, "recent_messages": 350}, "over": False}


def test_over_use_is_negative_and_said(api: Api) -> None:
    body = api.post(URL, {"budget": BUDGET, "used": {"memory": 140}}).json()
    assert body["sections"]["memory"] == -40
    assert body["over"] is True


def test_a_total_that_is_given_counts_before_the_sections_sum(api: Api) -> None:
    body = api.post(URL, {"budget": BUDGET, "used": {"total": 1200, "memory": 10}}).json()
    assert (body["total"], body["over"]) == (-200, True)


def test_it_takes_what_calculate_answers(api: Api) -> None:
    budget = api.post("/budgets/calculate", {"total": 6400}).json()
    body = api.post(URL, {"budget": budget, "used": {"total": 5440}}).json()
    assert body["total"] == 960


def test_usage_of_a_section_that_is_not_in_the_budget_is_refused(api: Api) -> None:
    answer = api.post(URL, {"budget": BUDGET, "used": {"memories": 1}})
    assert answer.status_code == 422
    assert answer.json()["code"] == "unknown_section"
    assert answer.json()["errors"][0]["pointer"] == "/used/memories"
