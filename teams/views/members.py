"""Members of a team: roles, invitations by link, and links for a forgotten password."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_POST

from kernel.errors import Forbidden, NotFound
from teams.administration import invite, password_link
from teams.models import ABILITIES, Membership, Role
from teams.pages import PageRequest, page
from teams.services import remove_member, set_member

MAX_SHOWN = 500
EXPLAINED = {
    "manage": "change profiles, caps, models and keys, act on sessions",
    "approve": "answer when a cap is reached",
    "members": "add and remove people",
    "analyse": "read analytics and export",
}


@page
def members(request: PageRequest) -> HttpResponse:
    if request.method != "POST":
        return _shown(request)
    request.visitor.require("members")
    visitor = request.visitor
    user, path = invite(
        team=visitor.project.team,
        username=request.POST.get("username", ""),
        role=request.POST.get("role", ""),
        actor=visitor.actor,
        by_role=visitor.role,
    )
    messages.success(request, f"{user.get_username()} is a member now.")
    return _shown(request, link=request.build_absolute_uri(path) if path else None)


def _shown(request: PageRequest, link: str | None = None) -> HttpResponse:
    rows = Membership.objects.filter(team_id=request.visitor.project.team_id).select_related("user")
    context = {
        "members": rows.order_by("user__username")[:MAX_SHOWN],
        "roles": Role.values,
        "abilities": {role: sorted(names) for role, names in ABILITIES.items()},
        "explained": EXPLAINED,
        "link": link,
    }
    response = render(request, "teams/members.html", context)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
@page
def change(request: PageRequest, member_id: int) -> HttpResponse:
    member, action = _visible(request, member_id), request.POST.get("action", "")
    # Anybody may leave; everything else is for those who look after members.
    if not (action == "remove" and member.user_id == request.visitor.user.pk):
        request.visitor.require("members")
    if Role.OWNER in (member.role, request.POST.get("role")) and request.visitor.role != Role.OWNER:
        raise Forbidden("Only an owner can do this for an owner.", code="role_missing")
    actor = request.visitor.actor
    if action == "password":
        path = password_link(membership=member, actor=actor, by_role=request.visitor.role)
        return _shown(request, link=request.build_absolute_uri(path))
    if action == "remove":
        remove_member(membership=member, actor=actor)
        messages.success(request, f"{member.user.get_username()} is a member no longer.")
    elif request.POST.get("role") in Role.values:
        set_member(team=member.team, user=member.user, role=request.POST["role"], actor=actor)
        messages.success(request, f"{member.user.get_username()} is {request.POST['role']} now.")
    return HttpResponseRedirect("/members")


def _visible(request: PageRequest, member_id: int) -> Membership:
    teams = {project.team_id for project in request.visitor.projects}
    rows = Membership.objects.select_related("user", "team").filter(team_id__in=teams)
    found = rows.filter(pk=member_id).first() if member_id < 2**63 else None
    if found is None:
        raise NotFound()
    # The visitor's role in that very team decides.
    project = next(project for project in request.visitor.projects if project.team_id == found.team_id)
    request.visitor = request.visitor.at(project.pk)
    return found
