"""POST /sessions/{id}/erase: forget every word of a session, keep the amounts."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Router

from kernel.http.idempotency import idempotent
from kernel.http.replies import reply
from sessions.services.erasure import erase_session
from teams.auth import ApiRequest

router = Router(tags=["Sessions"])


@router.post("/sessions/{session_id}/erase", response=dict[str, Any])
@idempotent
def erase(request: ApiRequest, session_id: str) -> HttpResponse:
    """Also erases its children; usage and cost stay. There is no way back."""
    request.auth.require("manage")
    erased = erase_session(project_id=request.auth.project_id, ref=session_id, actor=request.auth.actor)
    return reply({"state": "erased", "sessions": erased})
