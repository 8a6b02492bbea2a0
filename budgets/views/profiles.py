"""Profiles: the list with its presets, the editor with problems and a live preview, revisions, publishing."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_POST

from budgets.core.policy import Policy
from budgets.core.presets import PRESETS
from budgets.core.presets.preset import PURPOSES
from budgets.models import Profile, ProfileRevision
from budgets.services import profiles
from budgets.services.audit import Author
from budgets.services.calculations import compare
from budgets.services.in_use import users
from budgets.services.profiles import current_revision
from budgets.views.policy_form import CHOICES, Draft, changes, draft_of, read_form
from budgets.views.policy_text import write_policy
from budgets.views.replays import replay
from kernel.errors import Invalid, NotFound
from kernel.http.requests import request_id_of
from teams.pages import PageRequest, page, visible_row

# Shown while a project has not used any model yet.
EXAMPLE_MODELS = ("claude-sonnet-4-5", "gpt-5", "gpt-4", "gemini-2.5-pro")


@page
def listing(request: PageRequest) -> HttpResponse:
    project_id = request.visitor.project.pk
    rows = Profile.objects.of_project(project_id).select_related("current").order_by("name")
    sessions = users().sessions_by_profile(project_id)
    context = {
        "profiles": [{"row": row, "sessions": sessions.get(row.pk, 0)} for row in rows],
        "presets": PRESETS.values(),
        "purposes": PURPOSES,
    }
    return render(request, "budgets/profiles.html", context)


@require_POST
@page
def create(request: PageRequest) -> HttpResponse:
    request.visitor.require("manage")
    name = request.POST.get("name", "").strip().lower()
    if not name or len(name) > 64 or not all(c.isascii() and (c.isalnum() or c in "._-") for c in name):
        raise Invalid("A name has 1 to 64 small letters, digits, dots, dashes and underscores.")
    profile = profiles.copy_profile(
        project_id=request.visitor.project.pk,
        name=name,
        copy_of=request.POST.get("copy_of", ""),
        author=author_of(request),
        title=request.POST.get("title", "").strip()[:200],
    )
    return HttpResponseRedirect(f"/profiles/{profile.pk}")


@page
def editor(request: PageRequest, profile_id: str) -> HttpResponse:
    """The current revision, or the one that `?from=` names, as a form."""
    profile = visible_profile(request, profile_id)
    if request.method == "POST":
        return _save(request, profile)
    start = _revision(profile, request.GET.get("from", ""))
    return _editor(request, profile, draft_of(start.policy), start=start)


def _save(request: PageRequest, profile: Profile) -> HttpResponse:
    """Drafts must be valid, too: a revision is immutable and may be published at any time."""
    request.visitor.require("manage")
    start = _revision(profile, request.POST.get("from", ""))
    draft = read_form(start.policy, request.POST)
    if draft.policy is None:
        return _editor(request, profile, draft, start=start, status=422)
    author = author_of(request)
    note = request.POST.get("note", "").strip()[:500]
    revision = profiles.add_revision(profile=profile, policy=draft.document, author=author, note=note)
    if request.POST.get("then") == "publish":
        profiles.publish(profile=profile, author=author, number=revision.number)
        messages.success(
            request, f"Revision {revision.number} is published; sessions take it at their next turn."
        )
    else:
        messages.success(request, f"Revision {revision.number} is saved as a draft.")
    return HttpResponseRedirect(f"/profiles/{profile.pk}?from={revision.number}")


def _editor(
    request: PageRequest, profile: Profile, draft: Draft, *, start: ProfileRevision, status: int = 200
) -> HttpResponse:
    sessions = users().sessions_by_profile(profile.project_id).get(profile.pk, 0)
    context = {
        "profile": profile,
        "draft": draft,
        "start": start,
        "sections": _section_rows(draft),
        "revisions": list(profile.revisions.order_by("-number")[:50]),
        "sessions": sessions,
        "choices": CHOICES,
        "preview": preview_rows(profile, draft.policy),
        "document": write_policy(draft.document),
    }
    return render(request, "budgets/editor.html", context, status=status)


def _section_rows(draft: Draft) -> list[dict[str, Any]]:
    rows = []
    for index, section in enumerate(draft.document.get("sections", [])):
        size = section.get("size") or {}
        kind = next(iter(size), "share_bp")
        rows.append(
            {
                "index": index,
                "prefix": f"sections.{index}",
                "section": section,
                "kind": kind,
                "amount": "" if size.get(kind) is True else size.get(kind, ""),
                "purpose": section.get("purpose") or PURPOSES.get(section.get("name", ""), ""),
                "problems": _problems_below(draft, f"/sections/{index}"),
            }
        )
    return rows


def _problems_below(draft: Draft, pointer: str) -> list[str]:
    return [
        f"{at.removeprefix(pointer).strip('/') or 'section'} {detail}"
        for at, detail in draft.problems.items()
        if at == pointer or at.startswith(f"{pointer}/")
    ]


@require_POST
@page
def preview(request: PageRequest, profile_id: str) -> HttpResponse:
    """What the form as it is now would give every model; the same function as the API's."""
    profile = visible_profile(request, profile_id)
    draft = read_form(_revision(profile, request.POST.get("from", "")).policy, request.POST)
    context = {"draft": draft, "preview": preview_rows(profile, draft.policy)}
    return render(request, "budgets/preview.html", context)


def preview_rows(profile: Profile, policy: Policy | None) -> dict[str, Any] | None:
    if policy is None:
        return None
    models = users().models(profile.project_id) or list(EXAMPLE_MODELS)
    needs = users().section_needs(profile.project_id, profile.pk)
    turns = users().recent_turns(profile.project_id, profile.pk)
    compared = compare(project_id=profile.project_id, policy=policy, models=models)
    names = [section.name for section in policy.sections]
    rows, warned = [], False
    for one in compared:
        allocation = one.row.allocation
        cells = [_cell(name, allocation, needs.get((one.row.model, name), 0)) for name in names]
        warned = warned or any(cell["short"] for cell in cells)
        replayed = replay(policy, one, turns)
        rows.append({"row": one.row, "source": one.source, "cells": cells, "replay": replayed})
    return {"names": names, "rows": rows, "warned": warned}


def _cell(name: str, allocation: Any, need: int) -> dict[str, Any]:
    tokens = allocation.sections.get(name, 0) if allocation else None
    return {"tokens": tokens, "need": need, "short": tokens is not None and tokens < need}


@page
def diff(request: PageRequest, profile_id: str) -> HttpResponse:
    profile = visible_profile(request, profile_id)
    before = _revision(profile, request.GET.get("from", ""))
    after = _revision(profile, request.GET.get("to", ""))
    context = {
        "profile": profile,
        "before": before,
        "after": after,
        "changes": changes(before.policy, after.policy),
    }
    return render(request, "budgets/profile_diff.html", context)


@require_POST
@page
def publish(request: PageRequest, profile_id: str) -> HttpResponse:
    profile = visible_profile(request, profile_id)
    request.visitor.require("manage")
    wanted = _revision(profile, request.POST.get("revision", ""))
    act = profiles.publish if wanted.number > current_revision(profile).number else profiles.roll_back
    act(profile=profile, author=author_of(request), number=wanted.number)
    messages.success(request, f"Revision {wanted.number} holds now.")
    return HttpResponseRedirect(f"/profiles/{profile.pk}")


@page
def export(request: PageRequest, profile_id: str) -> HttpResponse:
    profile = visible_profile(request, profile_id)
    revision = _revision(profile, request.GET.get("from", ""))
    response = HttpResponse(write_policy(revision.policy), content_type="application/yaml")
    response["Content-Disposition"] = f'attachment; filename="{profile.name}-r{revision.number}.yaml"'
    return response


def visible_profile(request: PageRequest, profile_id: str) -> Profile:
    return visible_row(request, Profile.objects.select_related("current"), profile_id)


def _revision(profile: Profile, number: str) -> ProfileRevision:
    if not number:
        return current_revision(profile)
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    found = profile.revisions.filter(number=int(number)).first() if is_number else None
    if found is None:
        raise NotFound()
    return found


def author_of(request: PageRequest) -> Author:
    return Author(actor=request.visitor.actor, request_id=request_id_of(request))
