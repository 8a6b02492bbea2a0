"""The operator's admin: superusers only, everything can be opened, writes go through services."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from budgets.models import ModelOverride, ModelPrice, Profile
from budgets.services.audit import Author
from budgets.services.models import resolve_model
from budgets.services.profiles import add_revision, current_revision, publish, resolve_profile
from kernel.jobs import queue
from kernel.models import Job
from teams.models import ApiKey, AuditEvent, Membership, Project
from teams.services import create_api_key
from tests.api.client import Api

OURS = {"kernel", "teams", "budgets"}
PAGES = [model for model in admin.site._registry if model._meta.app_label in OURS]


def page(model: type, view: str, *arguments: str) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=arguments)  # type: ignore[attr-defined]


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="long enough"))
    return client


@pytest.mark.parametrize("model", PAGES, ids=lambda model: model.__name__)
def test_every_list_opens_for_the_operator(operator: Client, project: Project, model: type) -> None:
    resolve_profile(project_id=project.pk, ref="long-story")
    queue.enqueue(kind="nothing", dedupe_key="k", project_id=project.pk)
    create_api_key(project=project, scopes=["agent"])
    assert operator.get(page(model, "changelist")).status_code == 200
    row = model._default_manager.first()  # type: ignore[attr-defined]
    if row is not None:
        assert operator.get(page(model, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("model", PAGES, ids=lambda model: model.__name__)
def test_staff_that_is_not_a_superuser_sees_nothing(db: None, model: type) -> None:
    client = Client()
    client.force_login(User.objects.create_user("staff", is_staff=True))
    assert client.get(page(model, "changelist")).status_code == 403


def test_a_stranger_is_asked_to_sign_in(db: None) -> None:
    answer = Client().get(page(Profile, "changelist"))
    assert (answer.status_code, "login" in answer["Location"]) == (302, True)


@pytest.mark.parametrize("model", PAGES, ids=lambda model: model.__name__)
def test_nothing_is_changed_or_deleted_in_place(operator: Client, model: type) -> None:
    page_admin = admin.site._registry[model]
    request = operator.get("/admin/").wsgi_request
    assert not page_admin.has_change_permission(request)
    assert not page_admin.has_delete_permission(request)


def test_an_override_of_the_operator_holds_for_every_project(operator: Client, project: Project) -> None:
    form = {"name": "gpt-4", "context_window": "9000", "tokenizer": "o200k_base"}
    assert operator.post(page(ModelOverride, "add"), form).status_code == 302
    row = ModelOverride.objects.get()
    assert (row.project_id, row.actor) == ("", "user:root")
    assert resolve_model(project_id=project.pk, name="gpt-4").context_window == 9000


def test_an_alias_in_a_circle_is_refused_in_the_form(operator: Client) -> None:
    add = page(ModelOverride, "add")
    operator.post(add, {"name": "a", "alias_of": "b"})
    refused = operator.post(add, {"name": "b", "alias_of": "a"})
    assert refused.status_code == 200
    assert b"lead back" in refused.content
    assert ModelOverride.objects.count() == 1


def test_a_price_is_given_in_dollars(operator: Client) -> None:
    assert (
        operator.post(page(ModelPrice, "add"), {"name": "own", "input": "3", "output": "0.25"}).status_code
        == 302
    )
    row = ModelPrice.objects.get()
    assert (row.input_pico, row.output_pico, row.cache_read_pico) == (3_000_000, 250_000, None)


def test_a_new_key_is_shown_once_and_works(operator: Client, project: Project) -> None:
    form = {"project": project.pk, "name": "ci", "scopes": ["read"]}
    answer = operator.post(page(ApiKey, "add"), form, follow=True)
    key = ApiKey.objects.get()
    secret = answer.content.decode().split("shown this once: ")[1].split("<")[0].strip()
    assert secret.startswith(key.prefix)
    assert Api(key=secret).get("/profiles").status_code == 200
    assert secret.encode() not in operator.get(page(ApiKey, "change", key.pk)).content
    assert AuditEvent.objects.filter(action="key.created", actor="user:root").exists()


def test_a_key_that_may_not_be_is_refused_in_the_form(operator: Client, project: Project) -> None:
    form = {"project": project.pk, "scopes": ["agent", "approve"]}
    assert b"cannot approve" in operator.post(page(ApiKey, "add"), form).content
    assert not ApiKey.objects.exists()


def test_a_key_is_revoked_by_an_action(operator: Client, project: Project) -> None:
    made = create_api_key(project=project, scopes=["read"])
    operator.post(page(ApiKey, "changelist"), {"action": "revoke", "_selected_action": [made.key.pk]})
    assert Api(key=made.secret).get("/profiles").status_code == 401


def test_a_member_is_set_and_the_last_owner_stays(operator: Client, project: Project) -> None:
    user = User.objects.create_user("ada")
    form = {"team": project.team_id, "user": str(user.pk), "role": "owner"}
    assert operator.post(page(Membership, "add"), form).status_code == 302
    membership = Membership.objects.get()
    chosen = {"action": "remove", "_selected_action": [str(membership.pk)]}
    answer = operator.post(page(Membership, "changelist"), chosen, follow=True)
    assert b"last owner cannot leave" in answer.content
    assert Membership.objects.exists()


def test_a_project_is_made_with_its_team(operator: Client) -> None:
    form = {"team_name": "Initech", "name": "gamma"}
    assert operator.post(page(Project, "add"), form).status_code == 302
    assert Project.objects.get().team.name == "Initech"


def test_a_profile_is_rolled_back_by_an_action(operator: Client, project: Project) -> None:
    profile = resolve_profile(project_id=project.pk, ref=None)
    author = Author(actor="user:ada")
    add_revision(profile=profile, policy={"sections": [{"name": "memory"}]}, author=author)
    publish(profile=profile, author=author)
    operator.post(page(Profile, "changelist"), {"action": "roll_back", "_selected_action": [profile.pk]})
    assert current_revision(Profile.objects.get()).number == 1


def test_a_job_is_cancelled_by_an_action(operator: Client, project: Project) -> None:
    job, _ = queue.enqueue(kind="nothing", dedupe_key="k", project_id=project.pk)
    operator.post(page(Job, "changelist"), {"action": "cancel", "_selected_action": [job.pk]})
    assert Job.objects.get().state == Job.State.CANCELLED
