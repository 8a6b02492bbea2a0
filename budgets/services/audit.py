"""One audit row for every change of a project's configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from teams.models import Project
from teams.services import record_audit

SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who makes a change, and in which request."""

    actor: str
    request_id: str = ""


def record_change(
    *, project_id: str, author: Author, action: str, subject_id: str, before: Any = None, after: Any = None
) -> None:
    record_audit(
        team_id=Project.objects.values_list("team_id", flat=True).get(pk=project_id),
        project_id=project_id,
        actor=author.actor,
        action=action,
        subject_id=subject_id,
        before=before,
        after=after,
        request_id=author.request_id,
    )
