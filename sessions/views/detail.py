"""The page of one session: both percentages, money, the question at a cap, and its tabs."""

from __future__ import annotations

import hashlib
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from budgets.models import Cap
from budgets.services.caps import window_view
from kernel.models import Job
from sessions.models import AgentSession, Approval
from sessions.services.budget_view import budget_view
from sessions.services.compaction_requests import COMPACT_JOB
from sessions.services.frames import Frame, frame_of
from sessions.services.interventions import waiting
from sessions.views.finding import session_page
from sessions.views.tabs import TABS, tab_context
from teams.pages import PageRequest

DEFAULT_TAB = "composition"


@session_page
def detail(request: PageRequest, session: AgentSession) -> HttpResponse:
    tab = request.GET.get("tab", DEFAULT_TAB)
    tab = tab if tab in TABS else DEFAULT_TAB
    frame, etag, template = frame_of(session), _etag(session), f"sessions/tabs/{tab}.html"
    if request.headers.get("HX-Request"):
        if request.headers.get("If-None-Match") == etag:
            return HttpResponse(status=304, headers={"ETag": etag})
        part = {"session": session, "tab": tab, **tab_context(tab, session, frame, request.GET)}
        return _fresh(render(request, template, part), etag)
    context = {
        **head_context(session, frame),
        "tab": tab,
        "tabs": TABS,
        "tab_template": template,
        # What a person has scrolled to or is comparing stays as it is.
        "is_live": not set(request.GET) - {"tab", "project"} and tab not in ("checkpoints", "scratch"),
        **tab_context(tab, session, frame, request.GET),
    }
    return render(request, "sessions/detail.html", context)


@session_page
def live(request: PageRequest, session: AgentSession) -> HttpResponse:
    """The head of the page alone; a browser that has this version already gets no body."""
    etag = _etag(session)
    if request.headers.get("If-None-Match") == etag:
        return HttpResponse(status=304, headers={"ETag": etag})
    return _fresh(render(request, "sessions/head.html", head_context(session, frame_of(session))), etag)


def _fresh(response: HttpResponse, etag: str) -> HttpResponse:
    """The browser keeps the part and asks each time whether it still holds."""
    response["ETag"] = etag
    response["Cache-Control"] = "no-cache"
    response["Vary"] = "HX-Request"
    return response


def head_context(session: AgentSession, frame: Frame) -> dict[str, Any]:
    budget = budget_view(session, frame)
    jobs = Job.objects.filter(subject_id=session.pk, kind=COMPACT_JOB).order_by("-id")
    prompt_tokens = session.input_tokens + session.cache_read_tokens + session.cache_write_tokens
    return {
        "session": session,
        "frame": frame,
        "budget": budget,
        "prompt_tokens": prompt_tokens,
        "etag": _etag(session),
        "compact_at": _compaction_limit(frame),
        "cap": _session_cap(session),
        "approval": _open_question(session),
        "last_compaction_job": jobs.first(),
        "interventions": waiting(session),
        "child_count": session.children.count(),
        "checkpoint_count": session.checkpoints.count(),
    }


def _compaction_limit(frame: Frame) -> int:
    limits = [
        threshold.at
        if threshold.basis == "tokens"
        else threshold.at * (frame.context_window if threshold.basis == "window" else frame.total) // 10_000
        for threshold in frame.policy.thresholds
        if threshold.action == "compact"
    ]
    return min([*limits, frame.total])


def _session_cap(session: AgentSession) -> dict[str, Any] | None:
    """The session's own cap, the denominator of its cost."""
    caps = Cap.objects.of_project(session.project_id).active().filter(scope="session", scope_id=session.pk)
    cap = caps.order_by("limit_nano").first()
    return {"cap": cap, "window": window_view(cap)} if cap else None


def _open_question(session: AgentSession) -> dict[str, Any] | None:
    if not session.paused_by_cap:
        return None
    pending = Approval.objects.of_project(session.project_id).pending()
    approval = pending.select_related("session").filter(cap_id=session.paused_by_cap).first()
    if approval is None:
        return None
    return {"row": approval, "others": _others(approval, session)}


def _others(approval: Approval, session: AgentSession) -> int:
    return len([one for one in approval.paused_sessions if one != session.pk])


def _etag(session: AgentSession) -> str:
    """Everything that the head shows moves at least one of these."""
    open_jobs = Job.objects.filter(subject_id=session.pk, kind=COMPACT_JOB).order_by("-id")
    job = open_jobs.values_list("pk", "state", "progress").first()
    shown = (
        session.epoch,
        session.head_seq,
        session.turns,
        session.signal_seq,
        session.state,
        session.spent_nano,
        session.used_tokens,
        session.model,
        session.profile.current_id,
        session.paused_by_cap,
        job,
    )
    return f'"{hashlib.sha256(repr(shown).encode()).hexdigest()[:20]}"'
