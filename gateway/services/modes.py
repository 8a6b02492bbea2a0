"""Whether a project's calls are observed or assembled."""

from __future__ import annotations

import time

from django.db import transaction

from gateway.models import ProjectMode
from teams.models import Project
from teams.services import record_audit

# A change is seen by every gateway within a second.
_KEPT_SECONDS = 1.0
_modes: dict[str, tuple[float, bool]] = {}


@transaction.atomic
def set_mode(*, project: Project, assembles: bool, actor: str) -> None:
    before = ProjectMode.objects.filter(pk=project.pk, assembles=True).exists()
    ProjectMode.objects.update_or_create(project_id=project.pk, defaults={"assembles": assembles})
    record_audit(
        team_id=project.team_id,
        project_id=project.pk,
        actor=actor,
        action="gateway.mode",
        subject_id=project.pk,
        before={"assembles": before},
        after={"assembles": assembles},
    )


def assembles(project_id: str) -> bool:
    now = time.monotonic()
    known = _modes.get(project_id)
    if known is not None and known[0] > now:
        return known[1]
    if len(_modes) > 1000:
        _modes.clear()
    found = ProjectMode.objects.filter(pk=project_id, assembles=True).exists()
    _modes[project_id] = now + _KEPT_SECONDS, found
    return found
