"""Profiles of a project: their policies, revisions and previews."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Router
from pydantic import Field, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from budgets.api.requests import Ref, author_of
from budgets.api.shapes import compared_shape, preset_shape, profile_row, profile_shape, revision_shape
from budgets.core.errors import PolicyInvalid
from budgets.core.policy import parse_policy, problems
from budgets.core.presets import DEFAULT_PRESET, PRESETS
from budgets.models import Profile
from budgets.services import profiles
from budgets.services.calculations import compare
from kernel.errors import FieldProblem, Invalid, NotFound
from kernel.http.idempotency import idempotent
from kernel.http.replies import decode_cursor, decode_number, page_of, reply, reply_cached
from kernel.http.requests import require_match
from kernel.http.schemas import Cursor, Limit, Name, Slug, StrictSchema, Text
from teams.auth import READERS, ApiRequest

router = Router(tags=["Profiles"])

# Small, middling and large windows, with and without a latency cap.
PREVIEW_MODELS = (
    "gpt-3.5-turbo",
    "gpt-4",
    "gpt-4-32k",
    "llama-3.3-70b",
    "zai-glm-4.6",
    "claude-3-opus",
    "gemini-2.0-flash",
)

Document = dict[str, Any]
RevisionNumber = Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
Note = Annotated[Text, Field(max_length=500)]


class ProfileIn(StrictSchema):
    name: Slug
    title: Name | None = None
    copy_of: Name | None = Field(None, description="A profile or preset; ratio-default by default.")
    policy: Document | None = None

    @model_validator(mode="after")
    def _refuse_two_sources(self) -> ProfileIn:
        if self.copy_of is not None and self.policy is not None:
            raise PydanticCustomError("one_of", "give copy_of or a policy, not both")
        return self


class ProfileChange(StrictSchema):
    title: Name | None = None
    policy: Document | None = None
    note: Note = ""


class RevisionIn(StrictSchema):
    policy: Document
    note: Note = ""


class RevisionChoice(StrictSchema):
    revision: RevisionNumber | None = None


class PreviewIn(StrictSchema):
    policy: Document | None = Field(None, description="A draft; the current revision when left out.")
    models: Annotated[list[Name], Field(min_length=1, max_length=200)] = Field(
        default_factory=lambda: list(PREVIEW_MODELS)
    )
    mode: Name | None = None


@router.get("/profiles", summary="Profiles of the project")
def list_profiles(request: ApiRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    request.auth.require(*READERS)
    rows = Profile.objects.of_project(request.auth.project_id).select_related("current").order_by("name")
    after = decode_cursor(cursor)
    if after is not None:
        rows = rows.filter(name__gt=after)
    page = page_of(list(rows[: limit + 1]), limit=limit, key=lambda profile: profile.name, shape=profile_row)
    return reply_cached(request, page)


@router.get("/profiles/presets", summary="The shipped profiles, ready to be copied")
def list_presets(request: ApiRequest) -> HttpResponse:
    request.auth.require(*READERS)
    return reply_cached(
        request, {"items": [preset_shape(preset) for preset in PRESETS.values()], "next": None}
    )


@router.post("/profiles", summary="Create a profile from a policy, or as a copy")
@idempotent
def create_profile(request: ApiRequest, body: ProfileIn) -> HttpResponse:
    request.auth.require("manage")
    new: dict[str, Any] = {
        "project_id": request.auth.project_id,
        "name": body.name,
        "author": author_of(request),
        "title": body.title or "",
    }
    if body.policy is None:
        profile = profiles.copy_profile(copy_of=body.copy_of or DEFAULT_PRESET, **new)
    else:
        with _problems_of_policy():
            profile = profiles.create_profile(policy=body.policy, **new)
    return reply(profile_shape(profile), status=201, etag=profile.etag)


@router.get("/profiles/{ref}", summary="A profile with its current policy")
def get_profile(request: ApiRequest, ref: Ref) -> HttpResponse:
    request.auth.require(*READERS)
    profile = profiles.get_profile(project_id=request.auth.project_id, ref=ref)
    return reply(profile_shape(profile), etag=profile.etag)


@router.patch("/profiles/{ref}", summary="Change the title, or publish a changed policy")
@idempotent
def change_profile(request: ApiRequest, ref: Ref, body: ProfileChange) -> HttpResponse:
    request.auth.require("manage")
    profile = _locked(request, ref)
    require_match(request, profile.etag)
    author = author_of(request)
    if body.title is not None:
        profiles.rename_profile(profile=profile, author=author, title=body.title)
    if body.policy is not None:
        with _problems_of_policy():
            revision = profiles.add_revision(
                profile=profile, policy=body.policy, author=author, note=body.note
            )
        profiles.publish(profile=profile, author=author, number=revision.number)
    return reply(profile_shape(profile), etag=profile.etag)


@router.get("/profiles/{ref}/revisions", summary="Every revision, newest first")
def list_revisions(request: ApiRequest, ref: Ref, limit: Limit, cursor: Cursor) -> HttpResponse:
    request.auth.require(*READERS)
    profile = profiles.get_profile(project_id=request.auth.project_id, ref=ref)
    rows = profile.revisions.order_by("-number")
    before = decode_number(cursor)
    if before is not None:
        rows = rows.filter(number__lt=before)
    page = page_of(
        list(rows[: limit + 1]),
        limit=limit,
        key=lambda revision: str(revision.number),
        shape=lambda revision: revision_shape(revision, profile.current_id),
    )
    return reply_cached(request, page)


@router.post("/profiles/{ref}/revisions", summary="Add a draft revision")
@idempotent
def add_revision(request: ApiRequest, ref: Ref, body: RevisionIn) -> HttpResponse:
    request.auth.require("manage")
    profile = _changeable(request, ref)
    with _problems_of_policy():
        revision = profiles.add_revision(
            profile=profile, policy=body.policy, author=author_of(request), note=body.note
        )
    return reply(revision_shape(revision, profile.current_id), status=201, etag=profile.etag)


@router.post("/profiles/{ref}/publish", summary="Let sessions follow a revision, the newest by default")
@idempotent
def publish(request: ApiRequest, ref: Ref, body: RevisionChoice | None = None) -> HttpResponse:
    request.auth.require("manage")
    profile = _changeable(request, ref)
    profiles.publish(profile=profile, author=author_of(request), number=body.revision if body else None)
    return reply(profile_shape(profile), etag=profile.etag)


@router.post("/profiles/{ref}/rollback", summary="Go back to an earlier revision, the previous by default")
@idempotent
def roll_back(request: ApiRequest, ref: Ref, body: RevisionChoice | None = None) -> HttpResponse:
    request.auth.require("manage")
    profile = _changeable(request, ref)
    profiles.roll_back(profile=profile, author=author_of(request), number=body.revision if body else None)
    return reply(profile_shape(profile), etag=profile.etag)


@router.post("/profiles/{ref}/preview", summary="What a policy gives each model, before it is published")
def preview(request: ApiRequest, ref: Ref, body: PreviewIn | None = None) -> HttpResponse:
    request.auth.require(*READERS)
    body = body or PreviewIn(policy=None)
    document = _previewed(request, ref, body)
    found = [{"pointer": f"/policy{row.pointer}", "detail": row.detail} for row in problems(document)]
    if found:
        return reply({"valid": False, "problems": found, "models": []})
    rows = compare(
        project_id=request.auth.project_id,
        policy=parse_policy(document),
        models=body.models,
        mode=body.mode,
    )
    return reply({"valid": True, "problems": [], "models": [compared_shape(row) for row in rows]})


def _previewed(request: ApiRequest, ref: str, body: PreviewIn) -> Any:
    """A preset can be previewed before it is a profile."""
    profile = profiles.find_profile(project_id=request.auth.project_id, ref=ref)
    if profile is None and ref not in PRESETS:
        raise NotFound
    if body.policy is not None:
        return body.policy
    return profiles.current_revision(profile).policy if profile else PRESETS[ref].document


def _locked(request: ApiRequest, ref: str) -> Profile:
    profile = profiles.get_profile(project_id=request.auth.project_id, ref=ref)
    profiles.lock_profile(profile)
    return profile


def _changeable(request: ApiRequest, ref: str) -> Profile:
    """These calls name the revision that they mean; whoever sends If-Match is held to it all the same."""
    profile = _locked(request, ref)
    if "If-Match" in request.headers:
        require_match(request, profile.etag)
    return profile


@contextmanager
def _problems_of_policy() -> Iterator[None]:
    """The rules point into the policy; the caller's body has it under /policy."""
    try:
        yield
    except PolicyInvalid as error:
        fields = tuple(
            FieldProblem(pointer=f"/policy{problem.pointer}", detail=problem.detail)
            for problem in error.problems
        )
        raise Invalid(error.detail, code=error.code, errors=fields[:50]) from None
