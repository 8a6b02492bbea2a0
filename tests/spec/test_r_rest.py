"""R: what the pure rules promise, through REST."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.client import Api

PERCENT = {
    "ratio-default": (15, 5, 10, 5, 15, 10, 35, 5),
    "ratio-code-focused": (10, 5, 5, 10, 10, 10, 45, 5),
    "ratio-preference-focused": (15, 5, 15, 5, 10, 10, 35, 5),
    "ratio-session-focused": (15, 5, 5, 5, 20, 10, 35, 5),
}


@pytest.fixture
def manage(manage_key: str) -> Api:
    return Api(key=manage_key)


@pytest.mark.parametrize(
    ("model", "total", "memory", "recent"),
    [
        ("gpt-3.5-turbo", 3276, 327, 1146),
        ("gpt-4", 6553, 655, 2293),
        ("gpt-4-32k", 26_214, 2621, 9174),
        ("claude-3-opus", 160_000, 16_000, 56_000),
    ],
)
def test_r2_budgets_of_models_over_rest(api: Api, model: str, total: int, memory: int, recent: int) -> None:
    body = api.post("/budgets/calculate", {"model": model}).json()
    sections = body["sections"]
    assert (body["total"], sections["memory"], sections["recent_messages"]) == (total, memory, recent)


def test_r3_adjusting_drifts_and_says_422_for_nothing(api: Api) -> None:
    budget = api.post("/budgets/calculate", {"total": 6553}).json()
    scaled = api.post("/budgets/adjust", {"budget": budget, "new_total": 160_000}).json()
    assert scaled["sections"]["memory"] == 15_992
    nothing = {"total": 0, "sections": {"memory": 0}}
    assert api.post("/budgets/adjust", {"budget": nothing, "new_total": 5}).status_code == 422


def test_r4_over_use_is_never_hidden(api: Api) -> None:
    budget = api.post("/budgets/calculate", {"total": 6400}).json()
    body = api.post("/budgets/available", {"budget": budget, "used": {"memory": 700}}).json()
    assert (body["sections"]["memory"], body["total"], body["over"]) == (-60, 5700, True)


def test_r5_the_ratio_is_the_profiles_and_the_fallback_is_said(api: Api, manage: Api) -> None:
    cautious = manage.post("/profiles", {"name": "cautious"}).json()
    policy = {**cautious["policy"], "window": {**cautious["policy"]["window"], "safety_bp": 7000}}
    manage.patch("/profiles/cautious", {"policy": policy}, headers={"If-Match": cautious["etag"]})
    body = api.post("/budgets/calculate", {"context_window": 200_000, "profile": "cautious"}).json()
    assert body["total"] == 140_000
    unknown = api.post("/budgets/calculate", {"model": "nobody-knows-it"}).json()
    assert (unknown["total"], unknown["window"]["source"]) == (25_600, "fallback")


@pytest.mark.parametrize("preset", PERCENT)
def test_r10_the_ratio_presets_over_rest(api: Api, preset: str) -> None:
    sections = api.post("/budgets/calculate", {"total": 10_000, "profile": preset}).json()["sections"]
    assert tuple(tokens // 100 for tokens in sections.values()) == PERCENT[preset]


def test_r10_a_preset_is_copied_edited_published_and_rolled_back(api: Api, manage: Api) -> None:
    made = manage.post("/profiles", {"name": "ours", "copy_of": "ratio-code-focused"}).json()
    policy = _with_share(made["policy"], "recent_messages", 4000)
    manage.post("/profiles/ours/revisions", {"policy": policy})
    assert _recent(api) == 4500
    manage.post("/profiles/ours/publish")
    assert _recent(api) == 4000
    manage.post("/profiles/ours/rollback")
    assert _recent(api) == 4500


def test_r10_a_profile_over_100_percent_is_refused_with_the_reason(manage: Api) -> None:
    made = manage.post("/profiles", {"name": "ours"}).json()
    policy = _with_share(made["policy"], "recent_messages", 3501)
    answer = manage.patch("/profiles/ours", {"policy": policy}, headers={"If-Match": made["etag"]})
    assert answer.status_code == 422
    assert "100.01 %" in answer.json()["errors"][0]["detail"]


def test_r11_one_profile_side_by_side_over_rest(api: Api) -> None:
    models = ["gpt-3.5-turbo", "gpt-4", "gpt-4-32k", "claude-3-opus", "nobody-knows-it"]
    rows = api.post("/budgets/compare", {"profile": "ratio-default", "models": models}).json()["models"]
    assert [(row["model"], row["total"]) for row in rows] == list(
        zip(models, (3276, 6553, 26_214, 160_000, 25_600), strict=True)
    )
    assert [row["sections"]["memory"] for row in rows] == [327, 655, 2621, 16_000, 2560]


def _recent(api: Api) -> int:
    body = api.post("/budgets/calculate", {"total": 10_000, "profile": "ours"}).json()
    return int(body["sections"]["recent_messages"])


def _with_share(policy: dict[str, Any], name: str, share_bp: int) -> dict[str, Any]:
    sections = [
        {**section, "size": {"share_bp": share_bp}} if section["name"] == name else section
        for section in policy["sections"]
    ]
    return {**policy, "sections": sections}
