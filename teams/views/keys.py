"""API keys: made and shown once, rotated with an overlap, revoked."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_POST

from kernel.clock import read_now
from kernel.errors import NotFound
from teams.models import ApiKey, Membership, Scope
from teams.pages import PageRequest, page, visible_row
from teams.services import NewKey, create_api_key, revoke_api_key, rotate_api_key

OVERLAP = timedelta(hours=24)
MAX_SHOWN = 200


@page
def keys(request: PageRequest) -> HttpResponse:
    if request.method != "POST":
        return _shown(request)
    request.visitor.require("manage")
    acts_for = request.POST.get("acts_for", "")
    created = create_api_key(
        project=request.visitor.project,
        scopes=request.POST.getlist("scope"),
        name=request.POST.get("name", "").strip()[:200],
        acts_for=_member(request, acts_for) if acts_for else None,
        actor=request.visitor.actor,
    )
    return _shown(request, created)


def _shown(request: PageRequest, created: NewKey | None = None) -> HttpResponse:
    """The secret is in this one answer only; it is not stored and the page is not to be kept."""
    project = request.visitor.project
    context = {
        "keys": ApiKey.objects.of_project(project.pk).select_related("acts_for").order_by("-id")[:MAX_SHOWN],
        "created": created,
        "scopes": Scope.values,
        "now": read_now(),
        "approvers": [
            member
            for member in Membership.objects.filter(team_id=project.team_id).select_related("user")
            if member.may("approve")
        ],
    }
    response = render(request, "teams/keys.html", context)
    response["Cache-Control"] = "no-store"
    return response


def _member(request: PageRequest, username: str) -> User:
    rows = User.objects.filter(memberships__team_id=request.visitor.project.team_id)
    found = rows.filter(username=username).first()
    if found is None:
        raise NotFound()
    return found


@require_POST
@page
def rotate(request: PageRequest, key_id: str) -> HttpResponse:
    key = _visible(request, key_id)
    request.visitor.require("manage")
    created = rotate_api_key(key=key, actor=request.visitor.actor, overlap=OVERLAP)
    messages.success(request, f"{key.prefix}… keeps working for 24 hours.")
    return _shown(request, created)


@require_POST
@page
def revoke(request: PageRequest, key_id: str) -> HttpResponse:
    key = _visible(request, key_id)
    request.visitor.require("manage")
    revoke_api_key(key=key, actor=request.visitor.actor)
    messages.success(request, f"{key.prefix}… works no longer.")
    return HttpResponseRedirect(f"/keys?project={key.project_id}")


def _visible(request: PageRequest, key_id: str) -> ApiKey:
    return visible_row(request, ApiKey.objects.select_related("project", "acts_for"), key_id)
