"""Subagents: a child gets its task, files and result schema, never its parent's history."""

from __future__ import annotations

import json
from typing import Any

from django.db import transaction

from kernel.clock import read_now
from kernel.errors import Conflict
from sessions.models import AgentSession
from sessions.services.frames import Frame
from sessions.services.lifecycle import Opening, open_session
from sessions.services.result_schemas import check_schema, validate_result
from sessions.services.signals import add_signal
from sessions.services.store import append_messages, find_session, lock_session


@transaction.atomic
def open_child(
    *,
    project_id: str,
    key_id: str,
    parent_ref: str,
    task: str,
    files: dict[str, str],
    result_schema: dict[str, Any],
    model: str | None,
    profile: str | None,
) -> tuple[AgentSession, Frame]:
    parent = find_session(project_id=project_id, ref=parent_ref)
    check_schema(result_schema)
    opening = Opening(
        model=model or parent.model,
        profile=profile or parent.profile_id,
        task=task,
        goal=task,
        parent=parent.pk,
    )
    child, frame = open_session(project_id=project_id, key_id=key_id, opening=opening)
    child.result_schema = result_schema
    brief = {"role": "user", "content": _brief(task, files, result_schema)}
    append_messages(child, frame, [(brief, True, True)], now=read_now())
    child.save()
    return child, frame


@transaction.atomic
def record_result(*, project_id: str, ref: str, result: Any) -> AgentSession:
    """Valid JSON for the child's schema, or refused; the parent learns of it once."""
    child = lock_session(project_id=project_id, ref=ref)
    if child.parent_id is None:
        raise Conflict("Only a child session reports a result to its parent.", code="not_a_child")
    if child.result is not None:
        if child.result != result:
            raise Conflict("This child has reported another result already.", code="result_already_recorded")
        return child
    validate_result(result, child.result_schema or {})
    child.result = result
    child.state = AgentSession.State.ENDED
    child.save()
    parent = lock_session(project_id=project_id, ref=child.parent_id)
    parent.subagents_done += 1
    add_signal(parent, "SUBAGENT_COMPLETE", {"child": child.pk, "result": result})
    parent.save()
    return child


def _brief(task: str, files: dict[str, str], schema: dict[str, Any]) -> str:
    parts = [task]
    parts += [f"File {path}:\n{text}" for path, text in files.items()]
    parts.append("Answer with JSON only, valid for this schema:\n" + json.dumps(schema, indent=1))
    return "\n\n".join(parts)
