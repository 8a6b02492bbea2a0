"""What a person can do to a session: see what would happen first, then do it."""

from __future__ import annotations

import copy
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_POST

from budgets.core.errors import NoInputRoom
from budgets.models import Profile
from budgets.services.audit import Author
from budgets.services.models import resolve_model
from budgets.services.profiles import get_profile
from kernel.errors import Invalid
from kernel.http.requests import request_id_of
from sessions.core.compaction import Refusal
from sessions.models import AgentSession
from sessions.services import by_hand
from sessions.services.checkpoint_diffs import diff_checkpoints
from sessions.services.checkpoints import checkpoint_content, find_checkpoint
from sessions.services.compaction_plans import plan_compaction, plan_json, refusal_sentence
from sessions.services.frames import frame_of
from sessions.services.lifecycle import Change
from sessions.services.restores import preview_restore
from sessions.views.finding import session_page
from teams.pages import PageRequest


def author_of(request: PageRequest) -> Author:
    return Author(actor=request.visitor.actor, request_id=request_id_of(request))


def back_to(session: AgentSession, tab: str = "") -> HttpResponseRedirect:
    return HttpResponseRedirect(f"/sessions/{session.pk}" + (f"?tab={tab}" if tab else ""))


@session_page
def compact(request: PageRequest, session: AgentSession) -> HttpResponse:
    """The plan first; folding starts only when it is confirmed."""
    if request.method == "POST":
        request.visitor.require("manage")
        by_hand.compact(project_id=session.project_id, session_id=session.pk, author=author_of(request))
        messages.success(request, "Compaction is queued; this page follows it.")
        return back_to(session)
    planned = plan_compaction(session)
    refusal = refusal_sentence(planned.plan) if isinstance(planned.plan, Refusal) else ""
    context = {"session": session, "plan": plan_json(planned), "refusal": refusal}
    return render(request, "sessions/compact.html", context)


@require_POST
@session_page
def checkpoint(request: PageRequest, session: AgentSession) -> HttpResponse:
    request.visitor.require("manage")
    row = by_hand.checkpoint(project_id=session.project_id, session_id=session.pk, author=author_of(request))
    messages.success(request, f"Checkpoint {row.number} is written.")
    return back_to(session, "checkpoints")


@require_POST
@session_page
def set_state(request: PageRequest, session: AgentSession) -> HttpResponse:
    """Pause, resume or end by hand; what a cap paused only an approval resumes."""
    request.visitor.require("manage")
    state = request.POST.get("state", "")
    by_hand.change(
        project_id=session.project_id,
        session_id=session.pk,
        change=Change(state=state),
        author=author_of(request),
    )
    messages.success(request, f"The session is {state} now.")
    return back_to(session)


@require_POST
@session_page
def pin(request: PageRequest, session: AgentSession) -> HttpResponse:
    """Holds the revision of now, or follows the profile again."""
    request.visitor.require("manage")
    wanted = request.POST.get("pinned") == "yes"
    by_hand.change(
        project_id=session.project_id,
        session_id=session.pk,
        change=Change(pin_revision=wanted),
        author=author_of(request),
    )
    messages.success(
        request, "The revision is pinned." if wanted else "The session follows its profile again."
    )
    return back_to(session)


@session_page
def erase(request: PageRequest, session: AgentSession) -> HttpResponse:
    """Cannot be undone: what goes and what stays first, then the session's own name as confirmation."""
    if request.method == "POST":
        request.visitor.require("manage")
        if request.POST.get("name", "").strip() not in (str(session), session.pk):
            raise Invalid("Type the session's name to erase it.", code="erase_not_confirmed")
        count = by_hand.erase(project_id=session.project_id, session_id=session.pk, author=author_of(request))
        messages.success(request, f"Erased: the words of {count} session{'s' if count > 1 else ''}.")
        return back_to(session)
    context = {"session": session, "children": session.children.count()}
    return render(request, "sessions/erase.html", context)


@session_page
def switch_model(request: PageRequest, session: AgentSession) -> HttpResponse:
    """The fit first: what another window or plan leaves of the budget, and whether compaction becomes due."""
    given = request.POST if request.method == "POST" else request.GET
    model, profile = given.get("model", "").strip(), given.get("profile", "").strip()
    if request.method == "POST":
        request.visitor.require("manage")
        return _switch(request, session, Change(model=model or None, profile=profile or None))
    profiles = Profile.objects.of_project(session.project_id).order_by("name")
    context = {
        "session": session,
        "model": model or session.model,
        "profile": profile or session.profile.name,
        "profiles": profiles,
        "now": frame_of(session),
        "fit": _fit(session, model or session.model, profile) if model or profile else None,
    }
    return render(request, "sessions/switch.html", context)


def _switch(request: PageRequest, session: AgentSession, wanted: Change) -> HttpResponse:
    if wanted.model is None and wanted.profile is None:
        raise Invalid("Name the model or the profile to switch to.", code="invalid_model")
    changed = by_hand.change(
        project_id=session.project_id, session_id=session.pk, change=wanted, author=author_of(request)
    )
    said = f"The session uses {changed.model} and {changed.profile.name} now and was budgeted anew."
    messages.success(request, said)
    return back_to(session)


def _fit(session: AgentSession, model: str, profile: str) -> dict[str, Any]:
    """Measured on a copy: nothing of the session is changed by looking."""
    trial = copy.copy(session)
    if profile and profile != session.profile.name:
        trial.profile = get_profile(project_id=session.project_id, ref=profile)
        trial.pinned_revision = None
    resolved = resolve_model(project_id=session.project_id, name=model)
    try:
        frame = frame_of(trial, model=model)
    except NoInputRoom as problem:
        return {"refusal": problem.detail, "resolved": resolved}
    return {
        "frame": frame,
        "resolved": resolved,
        "left": frame.total - session.used_tokens,
        "fits": session.used_tokens <= frame.total,
        "same_counter": frame.counter.name == session.tokenizer,
    }


@session_page
def restore(request: PageRequest, session: AgentSession, number: str) -> HttpResponse:
    """Whether the checkpoint fits, and what would be hidden; undoable."""
    if request.method == "POST":
        request.visitor.require("manage")
        undo = by_hand.restore(
            project_id=session.project_id,
            session_id=session.pk,
            number=number,
            author=author_of(request),
        )
        messages.success(request, f"Restored. Checkpoint {undo.number} undoes it.")
        return back_to(session, "checkpoints")
    checkpoint = find_checkpoint(session, number)
    context = {
        "session": session,
        "checkpoint": checkpoint,
        "preview": preview_restore(
            project_id=session.project_id, ref=session.pk, checkpoint_ref=str(checkpoint.number)
        ),
        "hidden": max(0, session.head_seq - checkpoint.head_seq),
    }
    return render(request, "sessions/restore.html", context)


@session_page
def diff(request: PageRequest, session: AgentSession) -> HttpResponse:
    before = find_checkpoint(session, request.GET.get("from", ""))
    after = find_checkpoint(session, request.GET.get("to", ""))
    if before.number > after.number:
        before, after = after, before
    found = diff_checkpoints(session, before, after)
    context = {
        "session": session,
        "before": before,
        "after": after,
        "diff": found,
        "from_checkpoint": found["from"],
        "delta": sum(found["tokens"].values()),
        "lost": _by_kind(found["lost_in_summary"]),
        "remembered": {
            entry["id"]: entry["text"]
            for one in (before, after)
            for entry in checkpoint_content(one)["memory"]
        },
    }
    return render(request, "sessions/diff.html", context)


def _by_kind(lost: list[dict[str, str]]) -> dict[str, list[str]]:
    """Paths and names before bare numbers: they are what an agent misses first."""
    found: dict[str, list[str]] = {}
    for item in sorted(lost, key=lambda item: item["kind"] == "number"):
        found.setdefault(item["kind"], []).append(item["text"])
    return found


@require_POST
@session_page
def dismiss_dead_end(request: PageRequest, session: AgentSession, note_id: str) -> HttpResponse:
    request.visitor.require("manage")
    by_hand.dismiss_dead_end(
        project_id=session.project_id, session_id=session.pk, note_id=note_id, author=author_of(request)
    )
    messages.success(request, "The finding is dismissed and will not be found again.")
    return back_to(session, "scratch")
