"""POST /sessions/{id}/compact: fold old turns away now, or show what would be folded."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Router

from kernel.http.idempotency import idempotent
from kernel.http.replies import reply
from kernel.http.schemas import Flag, StrictSchema
from sessions.services.compaction import start_compaction
from sessions.services.compaction_plans import preview_compaction
from teams.auth import ApiRequest

router = Router(tags=["Sessions"])


class CompactIn(StrictSchema):
    dry_run: Flag = False


NOW = CompactIn()


@router.post("/sessions/{session_id}/compact", response={202: dict[str, Any], 200: dict[str, Any]})
@idempotent
def compact_session(request: ApiRequest, session_id: str, payload: CompactIn = NOW) -> HttpResponse:
    request.auth.require("agent", "manage")
    project_id = request.auth.project_id
    if payload.dry_run:
        return reply({"plan": preview_compaction(project_id=project_id, ref=session_id)})
    job_id, plan = start_compaction(project_id=project_id, ref=session_id)
    return reply({"job": job_id, "plan": plan}, status=202)
