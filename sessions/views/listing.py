"""The sessions of a project: filters in the address, both gauges per row, actions on many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_POST

from budgets.services.models import remember_cards
from kernel.errors import Invalid, ProblemError
from sessions.models import AgentSession
from sessions.services import by_hand
from sessions.services.frames import Frame, frame_of
from sessions.services.lifecycle import Change
from sessions.views.actions import author_of
from sessions.views.exports import chosen_messages, sessions_csv
from sessions.views.filtering import Field, parse_filter
from sessions.views.masking import masks_secrets
from teams.models import ApiKey
from teams.pages import PageRequest, page

PAGE = 50
MAX_BULK = 200
NANO = 10**9
FIELDS = {
    "state": Field(column="state"),
    "model": Field(column="model"),
    "profile": Field(column="profile__name"),
    "level": Field(column="level"),
    "id": Field(column="id"),
    "external_id": Field(column="external_id"),
    "turns": Field(column="turns", is_number=True),
    "compactions": Field(column="compactions", is_number=True),
    "input": Field(column="input_tokens", is_number=True),
    "output": Field(column="output_tokens", is_number=True),
    "cost": Field(column="spent_nano", is_number=True, scale=NANO),
    "day": Field(column="created_at", is_day=True),
}
WORDS = ("external_id", "task", "id")
STATES = tuple(AgentSession.State.values)
ORDERS = {
    "activity": "-last_activity_at",
    "cost": "-spent_nano",
    "turns": "-turns",
    "started": "-id",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    session: AgentSession
    frame: Frame
    children: int

    @property
    def prompt_tokens(self) -> int:
        session = self.session
        return session.input_tokens + session.cache_read_tokens + session.cache_write_tokens


@page
@masks_secrets
def listing(request: PageRequest) -> HttpResponseBase:
    project = request.visitor.project
    wanted = parse_filter(request.GET.get("q", ""), FIELDS, words=WORDS, zone=project.time_zone)
    state, parent = request.GET.get("state", ""), request.GET.get("parent", "")
    rows = AgentSession.objects.of_project(project.pk).filter(wanted.condition)
    rows = rows.filter(state=state) if state in STATES else rows
    # Children are shown beneath their parent, never mixed among the others.
    rows = rows.filter(parent_id=parent) if parent else rows.filter(parent=None)
    order = ORDERS.get(request.GET.get("order", ""), ORDERS["activity"])
    if request.GET.get("format") == "csv":
        return sessions_csv(rows.select_related("profile").order_by(order, "-id").iterator(chunk_size=500))
    number = _page_number(request.GET.get("page", ""))
    related = rows.select_related("profile", "profile__current", "pinned_revision")
    first = (number - 1) * PAGE
    found = list(related.order_by(order, "-id")[first : first + PAGE + 1])
    return render(
        request,
        "sessions/list_rows.html" if request.headers.get("HX-Target") == "rows" else "sessions/list.html",
        {
            "rows": session_rows(found[:PAGE]),
            "is_filtered": bool(wanted.terms or state or parent),
            "filter": wanted,
            "state": state,
            "states": _counts(project.pk),
            "parent": parent,
            "order": request.GET.get("order", "activity"),
            "orders": ORDERS,
            "fields": FIELDS,
            "page_number": number,
            "has_more": len(found) > PAGE,
            "key_prefix": None if found else _a_key_prefix(project.pk),
        },
    )


def session_rows(sessions: Sequence[AgentSession]) -> list[SessionRow]:
    """Sessions of one project with the frame of each; rows cost no queries of their own."""
    if sessions:
        remember_cards(project_id=sessions[0].project_id, names=[session.model for session in sessions])
    ids = [session.pk for session in sessions]
    counted = AgentSession.objects.filter(parent_id__in=ids).values_list("parent_id")
    children = dict(counted.annotate(number=Count("pk")))
    return [
        SessionRow(session=session, frame=frame_of(session), children=children.get(session.pk, 0))
        for session in sessions
    ]


def _counts(project_id: str) -> list[tuple[str, int]]:
    rows = AgentSession.objects.of_project(project_id).filter(parent=None)
    found = dict(rows.values_list("state").annotate(number=Count("pk")))
    return [(state, found[state]) for state in STATES if state in found]


def _page_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text) else 1


def _a_key_prefix(project_id: str) -> str | None:
    keys = ApiKey.objects.of_project(project_id).filter(Q(revoked_at=None))
    return keys.order_by("-id").values_list("prefix", flat=True).first()


@require_POST
@page
def bulk(request: PageRequest) -> HttpResponseBase:
    """The same action on many sessions; each succeeds or fails for itself, and the page says which."""
    request.visitor.require("manage")
    ids = request.POST.getlist("session")[:MAX_BULK]
    action = request.POST.get("action", "")
    if action == "export" and ids:
        rows = AgentSession.objects.of_project(request.visitor.project.pk)
        return chosen_messages(rows.filter(pk__in=ids).order_by("pk"))
    done, refused = 0, []
    for session_id in ids:
        try:
            _apply(action, request, session_id)
            done += 1
        except ProblemError as problem:
            refused.append(f"{session_id}: {problem.detail}")
    if done:
        messages.success(request, f"{action.capitalize()}: {done} of {len(ids)} sessions.")
    for sentence in refused[:5]:
        messages.error(request, sentence)
    if not ids:
        messages.warning(request, "Choose sessions first.")
    return HttpResponseRedirect(f"/sessions?project={request.visitor.project.pk}")


def _apply(action: str, request: PageRequest, session_id: str) -> None:
    target: dict[str, Any] = {
        "project_id": request.visitor.project.pk,
        "session_id": session_id,
        "author": author_of(request),
    }
    if action == "compact":
        by_hand.compact(**target)
    elif action == "checkpoint":
        by_hand.checkpoint(**target)
    elif action in ("pause", "resume"):
        state = AgentSession.State.PAUSED if action == "pause" else AgentSession.State.ACTIVE
        by_hand.change(**target, change=Change(state=state))
    elif action == "erase":
        _erase(request, target)
    else:
        raise Invalid("Choose one of the actions.", code="unknown_action")


def _erase(request: PageRequest, target: dict[str, Any]) -> None:
    """The one action that cannot be undone asks for a word."""
    if request.POST.get("confirm", "").strip().lower() != "erase":
        raise Invalid("Type erase to erase content for good.", code="erase_not_confirmed")
    by_hand.erase(**target)
