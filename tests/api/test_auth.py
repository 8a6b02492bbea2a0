"""Keys at the door: who comes in, with what, and who does not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernel.errors import Invalid
from teams.models import ApiKey, Project, Role
from teams.services import create_api_key, revoke_api_key, rotate_api_key, set_member
from tests.api.client import NO_KEY, Api
from tests.conftest import Clock

PATH = "/profiles"


def test_a_key_opens_the_door(api: Api) -> None:
    assert api.get(PATH).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer ' OR '1'='1",
        "Bearer ctxb_" + "a" * 40,
        "Bearer ctxb_" + "a" * 39 + "\x00",
        "Bearer " + "é" * 45,
        "Basic Y3R4Yjp4",
        "Token ctxb_" + "a" * 40,
    ],
)
def test_anything_else_is_401_and_says_how(api: Api, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = api.get(PATH, key=NO_KEY, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_two_authorization_headers_are_401(api: Api) -> None:
    # Servers join them with a comma before Django sees them.
    joined = f"Bearer {api.key},Bearer {api.key}"
    assert api.get(PATH, key=NO_KEY, headers={"Authorization": joined}).status_code == 401


def test_a_key_is_not_taken_from_the_url_or_a_cookie(api: Api) -> None:
    assert api.get(f"{PATH}?api_key={api.key}&key={api.key}", key=NO_KEY).status_code == 401
    client = Client()
    client.cookies["Authorization"] = f"Bearer {api.key}"
    assert client.get("/api/v1/profiles").status_code == 401


def test_a_right_prefix_with_a_wrong_secret_is_401(api: Api) -> None:
    last = "a" if api.key[-1] != "a" else "b"
    assert api.get(PATH, key=api.key[:-1] + last).status_code == 401


def test_only_a_prefix_and_a_hash_are_stored(api: Api) -> None:
    row = ApiKey.objects.get(prefix=api.key[:13])
    stored = " ".join(str(value) for value in vars(row).values())
    assert api.key not in stored
    assert api.key[13:] not in stored


def test_a_revoked_key_is_out_at_once(api: Api) -> None:
    revoke_api_key(key=ApiKey.objects.get(prefix=api.key[:13]), actor="user:ada")
    assert api.get(PATH).status_code == 401


def test_a_rotated_key_works_until_the_overlap_ends(api: Api, clock: Clock) -> None:
    old = ApiKey.objects.get(prefix=api.key[:13])
    fresh = rotate_api_key(key=old, actor="user:ada", overlap=timedelta(hours=1))
    assert [api.get(PATH, key=key).status_code for key in (api.key, fresh.secret)] == [200, 200]
    clock.advance(hours=1, seconds=1)
    assert [api.get(PATH, key=key).status_code for key in (api.key, fresh.secret)] == [401, 200]


def test_a_missing_scope_is_named(api: Api) -> None:
    answer = api.post(PATH, {"name": "own"})
    assert answer.status_code == 403
    assert (answer.json()["code"], answer.json()["required_scope"]) == ("scope_missing", "manage")
    assert "manage" in answer.json()["detail"]


def test_a_key_that_only_approves_reads_no_configuration(project: Project) -> None:
    member = User.objects.create_user("ada")
    set_member(team=project.team, user=member, role=Role.APPROVER, actor="system")
    secret = create_api_key(project=project, scopes=["approve"], acts_for=member).secret
    assert Api(key=secret).get(PATH).status_code == 403


@pytest.mark.parametrize(
    ("scopes", "with_member"),
    [([], False), (["everything"], False), (["approve"], False), (["approve", "agent"], True)],
)
def test_scopes_that_do_not_go_together_are_refused(
    project: Project, scopes: list[str], with_member: bool
) -> None:
    member = User.objects.create_user("ada")
    set_member(team=project.team, user=member, role=Role.OWNER, actor="system")
    with pytest.raises(Invalid):
        create_api_key(project=project, scopes=scopes, acts_for=member if with_member else None)


def test_a_key_acts_only_for_a_member_who_may_approve(project: Project) -> None:
    viewer, stranger = User.objects.create_user("vera"), User.objects.create_user("sam")
    set_member(team=project.team, user=viewer, role=Role.VIEWER, actor="system")
    for user in (viewer, stranger):
        with pytest.raises(Invalid):
            create_api_key(project=project, scopes=["approve"], acts_for=user)


def test_an_unknown_path_needs_no_key_to_be_404(api: Api) -> None:
    answer = api.get("/nothing/here", key=NO_KEY)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("path", ["/openapi.json", "/docs"])
def test_the_documentation_is_open(db: Any, path: str) -> None:
    assert Api().get(path).status_code == 200
