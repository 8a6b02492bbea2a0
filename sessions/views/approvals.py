"""What waits for a person's answer: one page for all, one page to confirm; reading never decides."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_POST

from budgets.services.scopes import shown_scope_id
from budgets.views.money import nano_from
from kernel.errors import ProblemError
from sessions.models import Approval
from sessions.services import approvals
from sessions.services.approvals import Approver
from sessions.views.actions import author_of
from teams.pages import PageRequest, page, visible_row

HISTORY = 50
MAX_DECIDED = 100


@page
def listing(request: PageRequest) -> HttpResponse:
    rows = Approval.objects.of_project(request.visitor.project.pk).select_related("session")
    history = rows.exclude(state=Approval.State.PENDING).order_by("-decided_at")[:HISTORY]
    part = "approvals_waiting" if request.headers.get("HX-Request") else "approvals"
    context = {
        "waiting": [shown(row) for row in rows.pending().order_by("deadline")],
        "history": [shown(row) for row in history],
    }
    return render(request, f"sessions/{part}.html", context)


@page
def detail(request: PageRequest, approval_id: str) -> HttpResponse:
    """Where the link of a notification leads: the question with its figures, and the answer as a form."""
    approval = _visible(request, approval_id)
    return render(request, "sessions/approval.html", {"question": shown(approval)})


@require_POST
@page
def approve(request: PageRequest, approval_id: str) -> HttpResponse:
    approval = _visible(request, approval_id)
    amount = nano_from(request.POST.get("amount", ""))
    approvals.approve(approval=approval, amount_nano=amount, approver=_approver(request))
    messages.success(request, "Approved; the waiting sessions go on.")
    return _back(request, approval)


@require_POST
@page
def decline(request: PageRequest, approval_id: str) -> HttpResponse:
    approval = _visible(request, approval_id)
    approvals.decline(approval=approval, approver=_approver(request))
    messages.success(request, "Declined; the waiting sessions wrap up.")
    return _back(request, approval)


@require_POST
@page
def decide_many(request: PageRequest) -> HttpResponse:
    project_id, decided = request.visitor.project.pk, 0
    for approval_id in request.POST.getlist("approval")[:MAX_DECIDED]:
        try:
            _decide(request, _visible(request, approval_id))
            decided += 1
        except ProblemError as problem:
            messages.error(request, problem.detail)
    if decided:
        messages.success(request, f"{decided} decided.")
    return HttpResponseRedirect(f"/approvals?project={project_id}")


def _decide(request: PageRequest, approval: Approval) -> None:
    if request.POST.get("decision") == "approve":
        amount = nano_from(request.POST.get("amount", ""))
        approvals.approve(approval=approval, amount_nano=amount, approver=_approver(request))
    else:
        approvals.decline(approval=approval, approver=_approver(request))


def shown(row: Approval) -> dict[str, Any]:
    return {
        "row": row,
        "scope_id": shown_scope_id(row.scope, row.scope_id),
        "waited": (row.decided_at - row.created_at) if row.decided_at else None,
        "sessions": len(row.paused_sessions),
    }


def _visible(request: PageRequest, approval_id: str) -> Approval:
    return visible_row(request, Approval.objects.select_related("session"), approval_id)


def _approver(request: PageRequest) -> Approver:
    return Approver(author=author_of(request), user_id=request.visitor.user.pk)


def _back(request: PageRequest, approval: Approval) -> HttpResponse:
    if request.POST.get("from") == "session":
        return HttpResponseRedirect(f"/sessions/{approval.session_id}")
    return HttpResponseRedirect(f"/approvals?project={approval.project_id}")
