"""Profiles of a project: found, made from presets, revised, published and rolled back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models import Q

from budgets.core.policy import Policy, dump, parse_policy
from budgets.core.presets import DEFAULT_PRESET, PRESETS
from budgets.models import Profile, ProfileRevision
from budgets.services.audit import SYSTEM, Author, record_change
from kernel.clock import read_now
from kernel.errors import Conflict, FieldProblem, Invalid, NotFound
from kernel.ids import new_id

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySource:
    """A policy document and what it is stored as; a preset that nobody used yet has no revision."""

    name: str
    revision_id: str | None
    document: Document
    policy: Policy


def find_profile(*, project_id: str, ref: str) -> Profile | None:
    """By id or by name; names are lower case and ids are not, so they cannot be confused."""
    if not ref.isprintable() or len(ref) > 64:
        return None
    found = Profile.objects.of_project(project_id).select_related("current").filter(Q(pk=ref) | Q(name=ref))
    return found.first()


def get_profile(*, project_id: str, ref: str) -> Profile:
    profile = find_profile(project_id=project_id, ref=ref)
    if profile is None:
        raise NotFound
    return profile


def resolve_profile(*, project_id: str, ref: str | None) -> Profile:
    """The profile that a session follows; a preset is stored for the project when it is first used."""
    ref = DEFAULT_PRESET if ref is None else ref
    profile = find_profile(project_id=project_id, ref=ref)
    if profile is not None:
        return profile
    if ref not in PRESETS:
        raise _unknown(ref)
    return _store_preset(project_id, ref)


def policy_source(*, project_id: str, ref: str | None) -> PolicySource:
    """What resolve_profile would find, without writing anything."""
    ref = DEFAULT_PRESET if ref is None else ref
    profile = find_profile(project_id=project_id, ref=ref)
    if profile is not None:
        revision = current_revision(profile)
        return PolicySource(
            name=profile.name,
            revision_id=revision.pk,
            document=revision.policy,
            policy=policy_of(revision),
        )
    if ref not in PRESETS:
        raise _unknown(ref)
    document = PRESETS[ref].document
    return PolicySource(name=ref, revision_id=None, document=document, policy=_preset_policy(ref))


def policy_document(project_id: str, ref: str | None) -> Document:
    return policy_source(project_id=project_id, ref=ref).document


def current_revision(profile: Profile) -> ProfileRevision:
    # Only a profile inside its creating transaction has none.
    assert profile.current is not None
    return profile.current


def current_revision_id(profile: Profile) -> str:
    revision_id: str | None = profile.current_id
    assert revision_id is not None
    return revision_id


@lru_cache(maxsize=1024)
def revision_by_id(revision_id: str) -> ProfileRevision:
    """Read once per process: revisions never change."""
    return ProfileRevision.objects.get(pk=revision_id)


@lru_cache(maxsize=64)
def _preset_policy(name: str) -> Policy:
    return parse_policy(PRESETS[name].document)


@lru_cache(maxsize=1024)
def policy_of(revision: ProfileRevision) -> Policy:
    """Parsed once per process: revisions are immutable and equal by their id."""
    return parse_policy(revision.policy)


@transaction.atomic
def create_profile(
    *, project_id: str, name: str, policy: Document, author: Author, title: str = "", preset: str = ""
) -> Profile:
    profile, created = _get_or_create(
        project_id=project_id, name=name, policy=policy, author=author, title=title, preset=preset
    )
    if not created:
        raise Conflict(f"There is a profile named {name} already.", code="profile_exists")
    return profile


@transaction.atomic
def copy_profile(*, project_id: str, name: str, copy_of: str, author: Author, title: str = "") -> Profile:
    source = policy_source(project_id=project_id, ref=copy_of)
    preset = source.name if source.name in PRESETS else ""
    return create_profile(
        project_id=project_id, name=name, policy=source.document, author=author, title=title, preset=preset
    )


@transaction.atomic
def rename_profile(*, profile: Profile, author: Author, title: str) -> Profile:
    """Its title; the name stays, because sessions and callers refer to it."""
    before = profile.title
    profile.title = title
    _change(profile, author, "profile.renamed", before={"title": before}, after={"title": title})
    return profile


@transaction.atomic
def add_revision(*, profile: Profile, policy: Document, author: Author, note: str = "") -> ProfileRevision:
    """A draft until it is published."""
    lock_profile(profile)
    revision = _append(profile, policy, author, note)
    _change(profile, author, "profile.revised", before=None, after=_told(revision))
    return revision


@transaction.atomic
def publish(*, profile: Profile, author: Author, number: int | None = None) -> Profile:
    """Running sessions take the revision at their next turn; without a number, the newest."""
    lock_profile(profile)
    return _make_current(profile, author, "profile.published", _revision(profile, number))


@transaction.atomic
def roll_back(*, profile: Profile, author: Author, number: int | None = None) -> Profile:
    """To an earlier revision; without a number, the one before the current."""
    lock_profile(profile)
    at = current_revision(profile).number
    revision = _revision(profile, number, below=at)
    if revision.number >= at:
        raise Conflict(
            f"Revision {revision.number} is not before the current one, {at}.", code="nothing_to_roll_back"
        )
    return _make_current(profile, author, "profile.rolled_back", revision)


def _store_preset(project_id: str, name: str) -> Profile:
    preset = PRESETS[name]
    with transaction.atomic():
        profile, _ = _get_or_create(
            project_id=project_id,
            name=name,
            policy=preset.document,
            author=Author(actor=SYSTEM),
            title=preset.title,
            preset=name,
        )
    return profile


def _get_or_create(
    *, project_id: str, name: str, policy: Document, author: Author, title: str, preset: str
) -> tuple[Profile, bool]:
    """A second creator waits at the unique name for the first to commit, then finds its profile whole."""
    document = dump(parse_policy(policy))
    profile, created = Profile.objects.select_related("current").get_or_create(
        project_id=project_id,
        name=name,
        defaults={"id": new_id("prof"), "title": title, "preset": preset, "created_at": read_now()},
    )
    if created:
        profile.current = _insert_revision(profile, 1, document, author, "")
        profile.save(update_fields=["current"])
        record_change(
            project_id=project_id,
            author=author,
            action="profile.created",
            subject_id=profile.pk,
            after={"name": name, "policy": document},
        )
    return profile, created


def lock_profile(profile: Profile) -> None:
    """Revision numbers and the current revision move one change at a time."""
    profile.refresh_from_db(from_queryset=Profile.objects.select_for_update())


def _append(profile: Profile, policy: Document, author: Author, note: str) -> ProfileRevision:
    document = dump(parse_policy(policy))
    last = profile.revisions.order_by("-number").values_list("number", flat=True).first() or 0
    return _insert_revision(profile, last + 1, document, author, note)


def _insert_revision(
    profile: Profile, number: int, document: Document, author: Author, note: str
) -> ProfileRevision:
    return ProfileRevision.objects.create(
        id=new_id("rev"),
        profile=profile,
        number=number,
        policy=document,
        note=note,
        actor=author.actor,
        created_at=read_now(),
    )


def _revision(profile: Profile, number: int | None, below: int | None = None) -> ProfileRevision:
    revisions = profile.revisions.order_by("-number")
    if number is not None:
        revisions = revisions.filter(number=number)
    elif below is not None:
        revisions = revisions.filter(number__lt=below)
    found = revisions.first()
    if found is None and number is None:
        raise Conflict("There is no earlier revision to go back to.", code="nothing_to_roll_back")
    if found is None:
        detail = f"The profile has no revision {number}."
        raise Invalid(
            detail, code="unknown_revision", errors=(FieldProblem(pointer="/revision", detail=detail),)
        )
    return found


def _make_current(profile: Profile, author: Author, action: str, revision: ProfileRevision) -> Profile:
    before = current_revision(profile)
    profile.current = revision
    _change(profile, author, action, before=_told(before), after=_told(revision))
    return profile


def _change(profile: Profile, author: Author, action: str, *, before: Any, after: Any) -> None:
    profile.version += 1
    profile.save(update_fields=["title", "current", "version"])
    record_change(
        project_id=profile.project_id,
        author=author,
        action=action,
        subject_id=profile.pk,
        before=before,
        after=after,
    )


def _told(revision: ProfileRevision) -> dict[str, Any]:
    return {"revision": revision.number, "policy": revision.policy}


def _unknown(ref: str) -> Invalid:
    detail = f"There is no profile or preset {ref[:80]!r}."
    return Invalid(detail, code="unknown_profile", errors=(FieldProblem(pointer="/profile", detail=detail),))
