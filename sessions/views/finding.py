"""Finds the session of a page among the visitor's own projects; anybody else's does not exist."""

from __future__ import annotations

from functools import wraps
from typing import Any

from django.http import HttpResponseBase

from kernel.errors import NotFound
from sessions.models import AgentSession
from sessions.views.masking import masks_secrets
from teams.pages import PageRequest, PageView, page


def session_page(view: PageView) -> PageView:
    """Gives the view the session of its address, with the visitor at the session's project."""

    @page
    @masks_secrets
    @wraps(view)
    def answer(request: PageRequest, session_id: str, **kwargs: Any) -> HttpResponseBase:
        session = visible_session(request, session_id)
        request.visitor = request.visitor.at(session.project_id)
        return view(request, session, **kwargs)

    return answer


def visible_session(request: PageRequest, session_id: str) -> AgentSession:
    rows = AgentSession.objects.select_related("profile", "profile__current", "pinned_revision", "manifest")
    found = (
        rows.filter(pk=session_id, project_id__in=request.visitor.project_ids).first()
        if "\x00" not in session_id
        else None
    )
    if found is None:
        raise NotFound()
    return found
