"""Profiles: found by id or name, made from presets once, revised and never changed in place."""

from __future__ import annotations

import threading

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from budgets.core.errors import PolicyInvalid
from budgets.core.policy import parse_policy
from budgets.core.presets import PRESETS
from budgets.models import Profile, ProfileRevision
from budgets.services.audit import Author
from budgets.services.profiles import (
    add_revision,
    copy_profile,
    create_profile,
    current_revision,
    find_profile,
    get_profile,
    policy_document,
    policy_of,
    policy_source,
    publish,
    rename_profile,
    resolve_profile,
    roll_back,
)
from kernel.errors import Conflict, Invalid, NotFound
from teams.models import AuditEvent, Project

AUTHOR = Author(actor="user:ada", request_id="req_1")


def policy(share_bp: int = 5000) -> dict[str, object]:
    return {"sections": [{"name": "memory", "size": {"share_bp": share_bp}}]}


@pytest.fixture
def profile(project: Project) -> Profile:
    return create_profile(project_id=project.pk, name="own", policy=policy(), author=AUTHOR)


def share(profile: Profile) -> int:
    stored = Profile.objects.get(pk=profile.pk)
    return int(current_revision(stored).policy["sections"][0]["size"]["share_bp"])


def test_nothing_named_means_the_default_preset(project: Project) -> None:
    profile = resolve_profile(project_id=project.pk, ref=None)
    assert (profile.name, profile.preset) == ("ratio-default", "ratio-default")
    assert current_revision(profile).number == 1


@pytest.mark.parametrize("name", PRESETS)
def test_a_stored_preset_means_what_the_shipped_one_means(project: Project, name: str) -> None:
    revision = current_revision(resolve_profile(project_id=project.pk, ref=name))
    assert parse_policy(revision.policy) == parse_policy(PRESETS[name].document)


def test_a_preset_is_stored_once(project: Project) -> None:
    first = resolve_profile(project_id=project.pk, ref="long-story")
    assert resolve_profile(project_id=project.pk, ref="long-story").pk == first.pk
    assert ProfileRevision.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_ten_first_users_of_a_preset_share_one_profile(project: Project) -> None:
    barrier = threading.Barrier(10)
    found: list[tuple[str, str]] = []

    def use() -> None:
        barrier.wait()
        try:
            profile = resolve_profile(project_id=project.pk, ref="long-story")
            found.append((profile.pk, current_revision(profile).pk))
        finally:
            connection.close()

    threads = [threading.Thread(target=use) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 10
    assert len(set(found)) == 1
    assert ProfileRevision.objects.count() == 1


def test_it_is_found_by_id_and_by_name(project: Project, profile: Profile) -> None:
    assert get_profile(project_id=project.pk, ref=profile.pk) == profile
    assert get_profile(project_id=project.pk, ref="own") == profile


@pytest.mark.parametrize("ref", ["nope", "", "\x00", "x" * 1000, "prof_0"])
def test_an_unknown_ref_is_refused_and_writes_nothing(project: Project, ref: str) -> None:
    with pytest.raises(Invalid) as refusal:
        resolve_profile(project_id=project.pk, ref=ref)
    assert refusal.value.code == "unknown_profile"
    assert not Profile.objects.exists()


def test_another_projects_profile_is_not_there(other_project: Project, profile: Profile) -> None:
    assert find_profile(project_id=other_project.pk, ref=profile.pk) is None
    with pytest.raises(NotFound):
        get_profile(project_id=other_project.pk, ref="own")
    with pytest.raises(Invalid):
        policy_source(project_id=other_project.pk, ref=profile.pk)


def test_reading_a_presets_policy_writes_nothing(project: Project) -> None:
    assert policy_document(project.pk, "compact-chat") == PRESETS["compact-chat"].document
    assert not Profile.objects.exists()


def test_the_projects_own_policy_goes_before_the_preset_of_that_name(project: Project) -> None:
    stored = resolve_profile(project_id=project.pk, ref="ratio-default")
    add_revision(profile=stored, policy=policy(1), author=AUTHOR)
    publish(profile=stored, author=AUTHOR)
    assert policy_source(project_id=project.pk, ref=None).policy.sections[0].size.amount == 1


def test_a_bad_policy_is_refused_with_its_field(project: Project) -> None:
    with pytest.raises(PolicyInvalid) as refusal:
        create_profile(project_id=project.pk, name="bad", policy=policy(10_001), author=AUTHOR)
    assert refusal.value.pointer == "/sections/0/size/share_bp"
    assert not Profile.objects.exists()


def test_a_name_is_given_once_per_project(project: Project, other_project: Project, profile: Profile) -> None:
    with pytest.raises(Conflict):
        create_profile(project_id=project.pk, name="own", policy=policy(1), author=AUTHOR)
    assert share(profile) == 5000
    create_profile(project_id=other_project.pk, name="own", policy=policy(), author=AUTHOR)


def test_a_copy_stands_alone(project: Project, profile: Profile) -> None:
    copy = copy_profile(project_id=project.pk, name="copy", copy_of="own", author=AUTHOR)
    add_revision(profile=copy, policy=policy(100), author=AUTHOR)
    publish(profile=copy, author=AUTHOR)
    assert (share(profile), share(copy)) == (5000, 100)


def test_a_revision_is_a_draft_until_it_is_published(profile: Profile) -> None:
    revision = add_revision(profile=profile, policy=policy(6000), author=AUTHOR, note="more memory")
    assert (revision.number, share(profile)) == (2, 5000)
    publish(profile=profile, author=AUTHOR)
    assert share(profile) == 6000


def test_rolling_back_goes_to_the_revision_before_and_back_again(profile: Profile) -> None:
    for amount in (6000, 7000):
        add_revision(profile=profile, policy=policy(amount), author=AUTHOR)
        publish(profile=profile, author=AUTHOR)
    roll_back(profile=profile, author=AUTHOR)
    assert share(profile) == 6000
    roll_back(profile=profile, author=AUTHOR, number=1)
    assert share(profile) == 5000
    publish(profile=profile, author=AUTHOR, number=3)
    assert share(profile) == 7000
    assert [row.number for row in profile.revisions.order_by("number")] == [1, 2, 3]


def test_there_must_be_something_to_roll_back_to(profile: Profile) -> None:
    with pytest.raises(Conflict):
        roll_back(profile=profile, author=AUTHOR)
    with pytest.raises(Conflict):
        roll_back(profile=profile, author=AUTHOR, number=1)
    with pytest.raises(Invalid):
        publish(profile=profile, author=AUTHOR, number=9)


def test_every_change_moves_the_etag_and_leaves_an_audit_row(profile: Profile) -> None:
    etags = {profile.etag}
    add_revision(profile=profile, policy=policy(1), author=AUTHOR)
    etags.add(profile.etag)
    publish(profile=profile, author=AUTHOR)
    etags.add(profile.etag)
    rename_profile(profile=profile, author=AUTHOR, title="Ours")
    etags.add(profile.etag)
    roll_back(profile=profile, author=AUTHOR)
    etags.add(profile.etag)
    assert len(etags) == 5
    rows = AuditEvent.objects.filter(subject_id=profile.pk).order_by("created_at")
    assert {row.actor for row in rows} == {"user:ada"}
    assert [row.action.partition(".")[2] for row in rows] == [
        "created",
        "revised",
        "published",
        "renamed",
        "rolled_back",
    ]
    assert (rows[2].before["revision"], rows[2].after["revision"]) == (1, 2)


def test_a_stored_revision_has_its_defaults_written_out(profile: Profile) -> None:
    stored = current_revision(profile).policy
    assert stored["window"]["safety_bp"] == 8000
    assert stored["compaction"]["target_bp"] == 5000


def test_a_policy_is_parsed_once_per_revision(profile: Profile) -> None:
    revision = current_revision(profile)
    again = ProfileRevision.objects.get(pk=revision.pk)
    assert policy_of(revision) is policy_of(again)


def test_a_stored_profile_is_resolved_in_one_query(
    project: Project, profile: Profile, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        current_revision(resolve_profile(project_id=project.pk, ref="own"))
