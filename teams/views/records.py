"""The audit log, the project's settings, new projects, and one's own password."""

from __future__ import annotations

import json
from typing import Any
from zoneinfo import available_timezones

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_POST

from kernel.errors import Invalid
from kernel.http.requests import request_id_of
from teams.administration import SETTINGS, change_project, create_project
from teams.models import AuditEvent, Project
from teams.pages import PageRequest, page

PAGE = 50


@page
def audit(request: PageRequest) -> HttpResponse:
    """Who did what, before and after; filtered by actor, action or subject."""
    rows = AuditEvent.objects.filter(team_id=request.visitor.project.team_id).order_by("-id")
    wanted = {
        name: request.GET.get(name, "").replace("\x00", "")[:200] for name in ("actor", "action", "subject")
    }
    if wanted["actor"]:
        rows = rows.filter(actor__icontains=wanted["actor"])
    if wanted["action"]:
        rows = rows.filter(action__istartswith=wanted["action"])
    if wanted["subject"]:
        rows = rows.filter(subject_id=wanted["subject"])
    before = request.GET.get("before", "").replace("\x00", "")[:40]
    page_of = list((rows.filter(pk__lt=before) if before else rows)[: PAGE + 1])
    context = {
        "events": [_shown(row) for row in page_of[:PAGE]],
        "wanted": wanted,
        "is_filtered": any(wanted.values()),
        "older": page_of[PAGE - 1].pk if len(page_of) > PAGE else None,
    }
    return render(request, "teams/audit.html", context)


def _shown(row: AuditEvent) -> dict[str, Any]:
    return {"row": row, "before": _text(row.before), "after": _text(row.after)}


def _text(value: Any) -> str:
    return "" if value is None else json.dumps(value, indent=1, ensure_ascii=False)


@page
def settings(request: PageRequest) -> HttpResponse:
    project, problems, status = request.visitor.project, {}, 200
    given: dict[str, Any] = {name: getattr(project, name) for name in SETTINGS}
    if request.method == "POST":
        request.visitor.require("manage")
        given = {name: request.POST.get(name, "") for name in SETTINGS}
        try:
            changes = {**given, **_numbers(given)}
            change_project(
                project=project,
                changes=changes,
                actor=request.visitor.actor,
                request_id=request_id_of(request),
            )
            messages.success(request, "The settings hold from now on.")
            return HttpResponseRedirect(f"/settings?project={project.pk}")
        except Invalid as problem:
            problems = {error.pointer.strip("/"): error.detail for error in problem.errors}
            status = 422
    context = {
        "given": given,
        "problems": problems,
        "zones": sorted(available_timezones()),
        "choices": {
            "headline_unit": Project.Headline.values,
            "content_policy": Project.Content.values,
            "approval_default": Project.ApprovalDefault.values,
            "unpriced_policy": Project.Unpriced.values,
        },
    }
    return render(request, "teams/settings.html", context, status=status)


def _numbers(given: dict[str, str]) -> dict[str, Any]:
    """What is not a number stays text and is refused by the field it belongs to."""
    found: dict[str, Any] = {}
    for name in ("retention_days", "approval_minutes"):
        text = given[name].strip()
        is_number = text.isascii() and text.isdigit() and len(text) < 9
        found[name] = int(text) if is_number else None if not text and name == "retention_days" else 0
    return found


@require_POST
@page
def new_project(request: PageRequest) -> HttpResponse:
    request.visitor.require("members")
    project = create_project(
        team=request.visitor.project.team, name=request.POST.get("name", ""), actor=request.visitor.actor
    )
    messages.success(request, f"The project {project.name} is ready; make a key for its agents.")
    return HttpResponseRedirect(f"/keys?project={project.pk}")


@page
def account(request: PageRequest) -> HttpResponse:
    form = PasswordChangeForm(request.visitor.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        update_session_auth_hash(request, form.save())
        messages.success(request, "Your password is changed.")
        return HttpResponseRedirect("/account")
    return render(request, "teams/account.html", {"form": form}, status=422 if form.errors else 200)
