"""POST /budgets/calculate: the window hierarchy and tokens per section."""

from __future__ import annotations

from typing import Any

import pytest

from budgets.models import Profile
from teams.models import Project
from tests.api.client import Api

URL = "/budgets/calculate"


def refused(answer: Any, code: str, pointer: str | None = None) -> None:
    assert answer.status_code == 422
    assert answer.json()["code"] == code
    if pointer is not None:
        assert pointer in [error["pointer"] for error in answer.json()["errors"]]


def test_it_gives_the_default_shares_of_a_total(api: Api) -> None:
    answer = api.post(URL, {"total": 6400})
    assert answer.status_code == 200
    body = answer.json()
    assert body["total"] == 6400
    assert list(body["sections"].values()) == [960, 320, 640, 320, 960, 640, 2240, 320]
    assert body["unallocated"] == 0
    assert body["window"] is None


def test_it_shows_how_a_models_window_becomes_its_input(api: Api) -> None:
    body = api.post(URL, {"model": "zai-glm-4.6", "profile": "long-story", "mode": "combat"}).json()
    assert body["total"] == 93964
    window = {key: body["window"][key] for key in ("context_window", "safe", "output_reserve", "max_input")}
    assert list(window.values()) == [131072, 117964, 24000, 93964]
    assert body["window"]["source"] == "catalogue"


def test_a_context_window_works_without_a_model(api: Api) -> None:
    body = api.post(URL, {"context_window": 131072, "profile": "long-story"}).json()
    assert body["total"] == 94372
    assert body["window"]["source"] == "given"


@pytest.mark.parametrize(
    ("profile", "fallback"),
    [("ratio-default", 32_000), ("stream-coding-agent", 200_000)],
)
def test_an_unknown_model_gets_the_profiles_fallback_and_says_so(
    api: Api, profile: str, fallback: int
) -> None:
    window = api.post(URL, {"model": "nobody-knows-it", "profile": profile}).json()["window"]
    assert window["context_window"] == fallback
    assert window["source"] == "fallback"


def test_measured_sections_leave_the_rest_to_the_story(api: Api) -> None:
    body = api.post(
        URL, {"model": "zai-glm-4.6", "profile": "long-story", "measured": {"system_prompt": 10_000}}
    ).json()
    assert body["scaffold_tokens"] == 20_500
    assert body["sections"]["recent_messages"] == 94_372 - 20_500


def test_the_output_that_a_call_asks_for_is_kept_free(api: Api) -> None:
    body = api.post(URL, {"context_window": 10_000, "max_output": 5_000}).json()
    assert body["window"]["max_input"] == 5_000


def test_own_shares_are_basis_points(api: Api) -> None:
    body = api.post(URL, {"total": 1001, "shares": {"code": 3333, "talk": 5000}}).json()
    assert body["sections"] == {"code": 333, "talk": 500}
    assert body["unallocated"] == 168


def test_it_writes_nothing(api: Api) -> None:
    api.post(URL, {"model": "gpt-4", "profile": "compact-chat"})
    assert Profile.objects.count() == 0


def test_it_counts_word_limited_sections_in_words_too(api: Api) -> None:
    body = api.post(URL, {"model": "gpt-4", "profile": "compact-chat"}).json()
    assert body["words"] == {"memory": 300, "conversation_summary": 500, "recent_messages": 2500}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"model": "gpt-4", "total": 6400},
        {"model": "gpt-4", "context_window": 8192},
        {"total": 6400, "profile": "ratio-default", "shares": {"code": 5000}},
        {"total": 6400, "mode": "combat"},
        {"total": 6400, "max_output": 10},
    ],
)
def test_it_refuses_contradictions(api: Api, body: dict[str, Any]) -> None:
    refused(api.post(URL, body), "invalid", "")


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({"total": 6400, "shares": {"code": 10_001}}, "shares_invalid", "/shares"),
        ({"total": 6400, "shares": {"code": -1}}, "shares_invalid", "/shares/code"),
        ({"total": 6400, "shares": {"total": 1}}, "shares_invalid", "/shares/total"),
        ({"total": 6400, "shares": {"code": 0.5}}, "invalid", "/shares/code"),
        ({"total": 6400, "profile": "no-such"}, "unknown_profile", "/profile"),
        ({"model": "gpt-4", "profile": "long-story", "mode": "siege"}, "unknown_mode", "/mode"),
        ({"context_window": 0}, "invalid", "/context_window"),
        ({"total": 10**12 + 1}, "invalid", "/total"),
        ({"total": 6400, "budget": 1}, "unknown_field", "/budget"),
    ],
)
def test_it_names_the_field_that_is_wrong(api: Api, body: dict[str, Any], code: str, pointer: str) -> None:
    refused(api.post(URL, body), code, pointer)


def test_a_window_without_room_for_input_is_refused_with_its_numbers(api: Api) -> None:
    answer = api.post(URL, {"context_window": 1000, "profile": "long-story"})
    assert answer.status_code == 413
    assert answer.json()["code"] == "context_too_large"
    assert "1,024" in answer.json()["detail"]


def test_it_uses_the_projects_own_profile_by_name_and_by_id(
    api: Api, manage_key: str, project: Project
) -> None:
    policy = {"window": {"safety_bp": 7000}, "sections": [{"name": "memory", "size": {"share_bp": 5000}}]}
    made = api.post("/profiles", {"name": "cautious", "policy": policy}, key=manage_key).json()
    for ref in ("cautious", made["id"]):
        body = api.post(URL, {"model": "gpt-4", "profile": ref}).json()
        assert (body["total"], body["sections"]) == (5734, {"memory": 2867})
