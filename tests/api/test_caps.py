"""/caps over REST."""

from __future__ import annotations

import pytest

from teams.models import ApiKey, AuditEvent, Project
from tests.api.client import Answer, Api
from tests.money import CENT, admitted, books_balance, settle, spender_of

__all__ = ["books_balance"]


@pytest.fixture
def api(manage_key: str) -> Api:
    return Api(key=manage_key)


def make_cap(api: Api, **terms: object) -> Answer:
    return api.post("/caps", {"scope": "project", "limit_usd": "1", **terms})


def test_it_creates_a_cap_with_its_defaults(api: Api, project: Project) -> None:
    answer = make_cap(api)
    assert answer.status_code == 201
    body = answer.json()
    assert body["id"].startswith("cap_")
    assert (body["scope_id"], body["period"], body["limit_usd"]) == (project.pk, "total", "1")
    assert (body["warn_ratio"], body["wrap_up_reserve_usd"]) == (0.8, "0.05")
    assert body["window"] == {
        "key": "total",
        "limit_usd": "1",
        "spent_usd": "0",
        "reserved_usd": "0",
        "remaining_usd": "0.95",
        "resets_at": None,
    }
    assert answer.headers["ETag"] == f'"{body["id"]}-1"'


def test_it_counts_what_was_spent_and_is_held_before_the_cap(api: Api, project: Project) -> None:
    settle(admitted(spender_of(project), 10 * CENT), 7 * CENT)
    admitted(spender_of(project), 20 * CENT)
    window = make_cap(api, wrap_up_reserve_usd="0").json()["window"]
    assert (window["spent_usd"], window["reserved_usd"], window["remaining_usd"]) == ("0.07", "0.2", "0.73")


def test_a_model_cap_takes_any_spelling_of_the_name(api: Api) -> None:
    answer = make_cap(api, scope="model", scope_id="openai/gpt-4")
    assert answer.json()["scope_id"] == "gpt-4"


def test_a_key_cap_takes_a_key_of_the_project_only(api: Api, project: Project, other_key: str) -> None:
    own = ApiKey.objects.filter(project=project).get()
    assert make_cap(api, scope="key", scope_id=own.pk).status_code == 201
    foreign = ApiKey.objects.exclude(project=project).get()
    assert make_cap(api, scope="key", scope_id=foreign.pk).status_code == 404


def test_it_refuses_caps_on_the_whole_team(api: Api) -> None:
    answer = make_cap(api, scope="team")
    assert (answer.status_code, answer.json()["code"]) == (403, "team_cap")


@pytest.mark.parametrize(
    ("terms", "pointer"),
    [
        ({"limit_usd": 1}, "/limit_usd"),  # money travels as decimal strings
        ({"limit_usd": "-1"}, "/limit_usd"),
        ({"limit_usd": "0.0000000001"}, "/limit_usd"),  # finer than a nano-dollar
        ({"limit_usd": "NaN"}, "/limit_usd"),
        ({"period": "year"}, "/period"),
        ({"warn_ratio": 0}, "/warn_ratio"),
        ({"warn_ratio": 1.1}, "/warn_ratio"),
        ({"warn_ratio": True}, "/warn_ratio"),
        ({"wrap_up_reserve_usd": "1.01"}, "/wrap_up_reserve_usd"),
        ({"scope": "session"}, "/scope_id"),
        ({"colour": "red"}, "/colour"),
    ],
)
def test_it_refuses_bad_terms_with_the_field(api: Api, terms: dict[str, object], pointer: str) -> None:
    answer = make_cap(api, **terms)
    assert answer.status_code == 422
    assert any(error["pointer"].startswith(pointer) for error in answer.json()["errors"]), answer.json()


def test_it_needs_the_manage_scope(agent_key: str) -> None:
    answer = make_cap(Api(key=agent_key))
    assert (answer.status_code, answer.json()["required_scope"]) == (403, "manage")


def test_it_lists_the_projects_own_caps_newest_first_in_pages(api: Api, other_key: str) -> None:
    ids = [make_cap(api).json()["id"] for _ in range(3)]
    make_cap(Api(key=other_key))
    first = api.get("/caps?limit=2").json()
    second = api.get(f"/caps?limit=2&cursor={first['next']}").json()
    assert [row["id"] for row in first["items"] + second["items"]] == sorted(ids, reverse=True)
    assert second["next"] is None


def test_a_change_needs_the_version_that_was_read(api: Api) -> None:
    cap = make_cap(api).json()
    path, etag = f"/caps/{cap['id']}", f'"{cap["id"]}-1"'
    assert api.patch(path, {"limit_usd": "2"}).status_code == 428
    changed = api.patch(path, {"limit_usd": "2", "warn_ratio": 0.29}, headers={"If-Match": etag})
    assert changed.status_code == 200
    body = changed.json()
    assert (body["limit_usd"], body["window"]["limit_usd"], body["warn_ratio"]) == ("2", "2", 0.29)
    assert api.patch(path, {"limit_usd": "3"}, headers={"If-Match": etag}).status_code == 412


@pytest.mark.parametrize(
    ("given", "status"), [('"old", {}', 200), ("{},", 200), ('"old", "older"', 412), ("W/{}", 412)]
)
def test_one_of_several_named_versions_suffices_and_a_weak_one_never_does(
    api: Api, given: str, status: int
) -> None:
    cap = make_cap(api).json()
    match = given.format(f'"{cap["id"]}-1"')
    answer = api.patch(f"/caps/{cap['id']}", {"limit_usd": "2"}, headers={"If-Match": match})
    assert answer.status_code == status


def test_raising_adds_to_a_total_for_good_and_to_a_period_for_its_window(api: Api) -> None:
    total, daily = make_cap(api).json(), make_cap(api, period="day").json()
    risen = api.post(f"/caps/{total['id']}/raise", {"amount_usd": "0.5"}).json()
    assert (risen["limit_usd"], risen["window"]["limit_usd"]) == ("1.5", "1.5")
    risen = api.post(f"/caps/{daily['id']}/raise", {"amount_usd": "0.5"}).json()
    assert (risen["limit_usd"], risen["window"]["limit_usd"]) == ("1", "1.5")


def test_raising_with_the_same_idempotency_key_adds_once(api: Api) -> None:
    cap = make_cap(api).json()
    for _ in range(2):
        answer = api.post(
            f"/caps/{cap['id']}/raise", {"amount_usd": "0.5"}, headers={"Idempotency-Key": "raise-1"}
        )
    assert answer.headers["Idempotency-Replayed"] == "true"
    assert api.get(f"/caps/{cap['id']}").json()["limit_usd"] == "1.5"


def test_raising_beyond_what_can_be_added_up_changes_nothing(api: Api) -> None:
    cap = make_cap(api, limit_usd="1000000000").json()
    assert api.post(f"/caps/{cap['id']}/raise", {"amount_usd": "1000000000"}).status_code == 200
    answer = api.post(f"/caps/{cap['id']}/raise", {"amount_usd": "1000000000"})
    assert (answer.status_code, answer.json()["code"]) == (409, "sum_overflow")
    assert api.get(f"/caps/{cap['id']}").json()["limit_usd"] == "2000000000"


def test_a_deleted_cap_no_longer_holds(api: Api, project: Project) -> None:
    cap = make_cap(api, limit_usd="0.01", wrap_up_reserve_usd="0").json()
    assert api.delete(f"/caps/{cap['id']}").status_code == 204
    assert api.delete(f"/caps/{cap['id']}").status_code == 204
    admitted(spender_of(project), 5 * CENT)
    assert api.get("/caps").json()["items"] == []
    assert api.get(f"/caps/{cap['id']}").json()["active"] is False


def test_every_write_leaves_an_audit_row(api: Api) -> None:
    cap = make_cap(api).json()
    api.patch(f"/caps/{cap['id']}", {"limit_usd": "2"}, headers={"If-Match": "*"})
    api.post(f"/caps/{cap['id']}/raise", {"amount_usd": "1"})
    api.delete(f"/caps/{cap['id']}")
    rows = AuditEvent.objects.filter(subject_id=cap["id"]).order_by("id")
    assert sorted(row.action for row in rows) == [
        "cap.changed",
        "cap.created",
        "cap.deactivated",
        "cap.raised",
    ]
    assert all(row.actor.startswith("key:ctxb_") and row.request_id for row in rows)


def test_another_projects_cap_is_not_found(api: Api, other_key: str) -> None:
    cap = make_cap(api).json()
    stranger = Api(key=other_key)
    path = f"/caps/{cap['id']}"
    answers = [
        stranger.get(path),
        stranger.patch(path, {"limit_usd": "9"}, headers={"If-Match": "*"}),
        stranger.delete(path),
        stranger.post(f"{path}/raise", {"amount_usd": "9"}),
    ]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert api.get(path).json()["limit_usd"] == "1"
