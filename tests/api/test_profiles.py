"""/profiles: copy, edit, preview, publish, roll back."""

from __future__ import annotations

from typing import Any

import pytest

from budgets.core.presets import PRESETS
from budgets.models import Profile, ProfileRevision
from teams.models import AuditEvent
from tests.api.client import Answer, Api


def policy(share_bp: int = 5000, **changes: Any) -> dict[str, Any]:
    return {"sections": [{"name": "memory", "size": {"share_bp": share_bp}}], **changes}


@pytest.fixture
def manage(manage_key: str) -> Api:
    return Api(key=manage_key)


@pytest.fixture
def own(manage: Api) -> dict[str, Any]:
    answer = manage.post("/profiles", {"name": "own", "title": "Ours", "policy": policy()})
    assert answer.status_code == 201
    body: dict[str, Any] = answer.json()
    return body


def share(api: Api, name: str = "own") -> int:
    return int(api.get(f"/profiles/{name}").json()["policy"]["sections"][0]["size"]["share_bp"])


def pointers(answer: Answer) -> list[str]:
    return [error["pointer"] for error in answer.json()["errors"]]


def test_the_presets_are_listed_with_their_policies(api: Api) -> None:
    items = api.get("/profiles/presets").json()["items"]
    assert {item["name"] for item in items} == set(PRESETS)
    assert all(item["explanation"] and item["policy"]["sections"] for item in items)


def test_a_new_profile_tells_what_it_is(own: dict[str, Any]) -> None:
    assert own["id"].startswith("prof_")
    assert (own["name"], own["title"], own["preset"], own["revision"]) == ("own", "Ours", None, 1)
    assert own["policy"]["sections"][0]["size"] == {"share_bp": 5000}


def test_it_is_read_by_id_and_by_name_with_its_etag(api: Api, own: dict[str, Any]) -> None:
    by_id, by_name = api.get(f"/profiles/{own['id']}"), api.get("/profiles/own")
    assert by_id.json() == by_name.json() == own
    assert by_id.headers["ETag"] == own["etag"]


def test_a_copy_of_a_preset_remembers_where_it_came_from(manage: Api) -> None:
    body = manage.post("/profiles", {"name": "tale", "copy_of": "long-story"}).json()
    assert body["preset"] == "long-story"
    assert {section["name"] for section in body["policy"]["sections"]} >= {"game_state", "entity_tracking"}


def test_nothing_given_copies_the_default(manage: Api) -> None:
    assert manage.post("/profiles", {"name": "plain"}).json()["preset"] == "ratio-default"


def test_a_taken_name_is_a_conflict(manage: Api, own: dict[str, Any]) -> None:
    answer = manage.post("/profiles", {"name": "own"})
    assert (answer.status_code, answer.json()["code"]) == (409, "profile_exists")


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        # 100.01 % in one share, and in the sum of two.
        (policy(10_001), "/policy/sections/0/size/share_bp"),
        (
            {"sections": [{"name": n, "size": {"share_bp": s}} for n, s in (("a", 5000), ("b", 5001))]},
            "/policy/sections",
        ),
        (policy(-1), "/policy/sections/0/size/share_bp"),
        # A threshold below what is in every context.
        (
            policy(base_load_tokens=2000, thresholds=[{"flag": "warning", "at_tokens": 1999}]),
            "/policy/thresholds/0/at_tokens",
        ),
        # A warning that would be cleared above the level that sets it.
        (
            policy(thresholds=[{"flag": "warning", "at_bp": 8000, "clear_bp": 8001}]),
            "/policy/thresholds/0/clear_bp",
        ),
        ({"sections": [{"name": "memory", "fill": "magic"}]}, "/policy/sections/0/fill"),
        (policy(colour="red"), "/policy/colour"),
        ({}, "/policy/sections"),
        ({"sections": [{"name": "memory", "purpose": "\x00"}]}, "/policy/sections/0/purpose"),
        ({"sections": [{"name": "memory", "purpose": "\ud800"}]}, "/policy/sections/0/purpose"),
    ],
)
def test_a_bad_policy_is_refused_with_the_field(manage: Api, document: dict[str, Any], pointer: str) -> None:
    answer = manage.post("/profiles", {"name": "bad", "policy": document})
    assert (answer.status_code, answer.json()["code"]) == (422, "policy_invalid")
    assert pointer in pointers(answer)
    assert not Profile.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "Own"},
        {"name": "a b"},
        {"name": "x" * 65},
        {"name": "own\x00"},
        {"name": "own", "copy_of": "long-story", "policy": policy()},
        {"name": "own", "policy": []},
        {"name": "own", "id": "prof_1"},
        {"name": "own", "title": "\ud800"},
    ],
)
def test_a_bad_body_is_refused(manage: Api, body: dict[str, Any]) -> None:
    assert manage.post("/profiles", body).status_code == 422
    assert not Profile.objects.exists()


def test_an_unknown_source_of_a_copy_is_refused(manage: Api) -> None:
    answer = manage.post("/profiles", {"name": "own", "copy_of": "nope"})
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_profile")


def test_a_change_says_which_version_it_changes(manage: Api, own: dict[str, Any]) -> None:
    assert manage.patch("/profiles/own", {"title": "New"}).status_code == 428
    stale = manage.patch("/profiles/own", {"title": "New"}, headers={"If-Match": '"old"'})
    assert (stale.status_code, stale.json()["etag"]) == (412, own["etag"])
    done = manage.patch("/profiles/own", {"title": "New"}, headers={"If-Match": own["etag"]})
    assert (done.status_code, done.json()["title"]) == (200, "New")
    again = manage.patch("/profiles/own", {"title": "Newer"}, headers={"If-Match": own["etag"]})
    assert again.status_code == 412
    assert done.headers["ETag"] == manage.get("/profiles/own").headers["ETag"]


def test_a_changed_policy_is_a_new_revision_that_holds_at_once(manage: Api, own: dict[str, Any]) -> None:
    answer = manage.patch(
        "/profiles/own", {"policy": policy(6000), "note": "more"}, headers={"If-Match": own["etag"]}
    )
    assert answer.json()["revision"] == 2
    assert share(manage) == 6000
    assert [row.policy["sections"][0]["size"]["share_bp"] for row in _revisions()] == [5000, 6000]


def test_a_refused_change_changes_nothing(manage: Api, own: dict[str, Any]) -> None:
    answer = manage.patch(
        "/profiles/own", {"title": "New", "policy": policy(10_001)}, headers={"If-Match": own["etag"]}
    )
    assert answer.status_code == 422
    assert manage.get("/profiles/own").json() == own


def test_a_draft_is_published_and_rolled_back(manage: Api, own: dict[str, Any]) -> None:
    draft = manage.post("/profiles/own/revisions", {"policy": policy(6000), "note": "more"})
    assert (draft.status_code, draft.json()["revision"], draft.json()["current"]) == (201, 2, False)
    assert share(manage) == 5000
    assert manage.post("/profiles/own/publish", {"revision": 2}).json()["revision"] == 2
    assert share(manage) == 6000
    assert manage.post("/profiles/own/rollback").json()["revision"] == 1
    assert share(manage) == 5000


def test_publishing_holds_a_caller_to_the_version_that_it_names(manage: Api, own: dict[str, Any]) -> None:
    manage.post("/profiles/own/revisions", {"policy": policy(6000)})
    late = manage.post("/profiles/own/publish", headers={"If-Match": own["etag"]})
    assert late.status_code == 412


def test_there_is_nothing_before_the_first_revision(manage: Api, own: dict[str, Any]) -> None:
    assert manage.post("/profiles/own/rollback").status_code == 409
    unknown = manage.post("/profiles/own/publish", {"revision": 7})
    assert (unknown.status_code, pointers(unknown)) == (422, ["/revision"])


def test_revisions_are_listed_newest_first_in_pages(manage: Api, own: dict[str, Any]) -> None:
    for amount in (1, 2, 3, 4):
        manage.post("/profiles/own/revisions", {"policy": policy(amount)})
    first = manage.get("/profiles/own/revisions?limit=3").json()
    rest = manage.get(f"/profiles/own/revisions?limit=3&cursor={first['next']}").json()
    assert [item["revision"] for item in first["items"] + rest["items"]] == [5, 4, 3, 2, 1]
    assert rest["next"] is None
    assert [item["current"] for item in rest["items"]] == [False, True]


def test_profiles_are_listed_in_pages_and_answer_304(manage: Api) -> None:
    for name in ("c", "a", "b"):
        manage.post("/profiles", {"name": name})
    first = manage.get("/profiles?limit=2")
    assert [item["name"] for item in first.json()["items"]] == ["a", "b"]
    assert "policy" not in first.json()["items"][0]
    rest = manage.get(f"/profiles?limit=2&cursor={first.json()['next']}").json()
    assert ([item["name"] for item in rest["items"]], rest["next"]) == (["c"], None)
    same = manage.get("/profiles?limit=2", headers={"If-None-Match": first.headers["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    manage.post("/profiles", {"name": "ab"})
    changed = manage.get("/profiles?limit=2", headers={"If-None-Match": first.headers["ETag"]})
    assert changed.status_code == 200


def test_a_preview_shows_what_a_draft_would_give(api: Api, own: dict[str, Any]) -> None:
    body = api.post(
        "/profiles/own/preview", {"policy": policy(1000, window={"safety_bp": 5000}), "models": ["gpt-4"]}
    ).json()
    assert (body["valid"], body["problems"]) == (True, [])
    assert (body["models"][0]["total"], body["models"][0]["sections"]) == (4096, {"memory": 409})
    assert share(api) == 5000


def test_a_preview_shows_problems_beside_the_fields(api: Api, own: dict[str, Any]) -> None:
    body = api.post("/profiles/own/preview", {"policy": policy(10_001)}).json()
    assert body["valid"] is False
    assert body["problems"][0]["pointer"] == "/policy/sections/0/size/share_bp"


def test_a_preset_can_be_previewed_before_it_is_used(api: Api) -> None:
    body = api.post("/profiles/long-story/preview", {"models": ["zai-glm-4.6"]}).json()
    assert body["models"][0]["total"] == 94_372
    assert not Profile.objects.exists()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/profiles", {"name": "x"}),
        ("PATCH", "/profiles/own", {"title": "x"}),
        ("POST", "/profiles/own/revisions", {"policy": policy()}),
        ("POST", "/profiles/own/publish", None),
        ("POST", "/profiles/own/rollback", None),
    ],
)
@pytest.mark.parametrize("scope", ["agent_key", "read_key"])
def test_changing_needs_the_scope_manage(
    own: dict[str, Any], request: pytest.FixtureRequest, scope: str, method: str, path: str, body: Any
) -> None:
    answer = Api(key=request.getfixturevalue(scope)).request(method, path, body, headers={"If-Match": "*"})
    assert (answer.status_code, answer.json()["required_scope"]) == (403, "manage")


@pytest.mark.parametrize(
    "path", ["/profiles", "/profiles/presets", "/profiles/own", "/profiles/own/revisions"]
)
def test_every_project_key_may_read(own: dict[str, Any], read_key: str, path: str) -> None:
    assert Api(key=read_key).get(path).status_code == 200


def test_a_change_names_the_key_and_the_request_in_its_audit_row(manage: Api, manage_key: str) -> None:
    manage.post("/profiles", {"name": "own"}, headers={"X-Request-Id": "req-77"})
    row = AuditEvent.objects.get(action="profile.created")
    assert (row.actor, row.request_id) == (f"key:{manage_key[:13]}", "req-77")


def test_a_retried_creation_is_answered_once_made(manage: Api) -> None:
    headers = {"Idempotency-Key": "once"}
    first = manage.post("/profiles", {"name": "own"}, headers=headers)
    again = manage.post("/profiles", {"name": "own"}, headers=headers)
    assert again.content == first.content
    assert again.headers["Idempotency-Replayed"] == "true"
    assert Profile.objects.count() == 1


def _revisions() -> list[ProfileRevision]:
    return list(ProfileRevision.objects.order_by("number"))
