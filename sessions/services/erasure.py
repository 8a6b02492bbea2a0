"""Erasing a session: no word of it stays in any table; tokens, turns and money stay as amounts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Model

from kernel.bytes_search import rows_holding
from kernel.clock import read_now
from kernel.errors import NotFound
from kernel.http.idempotency import forget_answers
from kernel.jobs import queue as jobs
from kernel.jobs.registry import sweep
from sessions.models import (
    AgentSession,
    ArchiveDocument,
    ArchiveIndex,
    ArchiveTerm,
    Assembly,
    Checkpoint,
    Intervention,
    Manifest,
    MemoryEntry,
    Message,
    ReportedEvent,
    ScratchNote,
    SectionContent,
    Signal,
    Summary,
)
from sessions.services.store import EXTERNAL, find_session
from teams.models import Project, WebhookDelivery
from teams.services import record_audit, team_of

log = structlog.get_logger(__name__)

# What a round of the sweeper erases of one project at most.
ERASED_PER_ROUND = 20
# In this order: a manifest is held by its checkpoints, and by the session until that is blanked.
_CONTENT: tuple[type[Model], ...] = (
    Message,
    SectionContent,
    Summary,
    MemoryEntry,
    Checkpoint,
    Manifest,
    Assembly,
    ReportedEvent,
    ScratchNote,
    Signal,
    Intervention,
    ArchiveDocument,
    ArchiveTerm,
    ArchiveIndex,
)
# Every field of the session row that may hold words, and what is left of it.
_BLANK: dict[str, Any] = {
    "external_id": None,
    "result_schema": None,
    "result": None,
    "metadata": {},
    "task": "",
    "scratch_path": "",
    "pause_reason": "",
    "cfa_state": "",
    "position": {},
    "protocols": {},
    "last_prefix": [],
    "last_compaction": None,
    "pressure": {},
    "parts": {},
    "hidden": [],
    "manifest": None,
    "reported_prompt": None,
    "level": "normal",
    "dropped_unsummarised": 0,
}


@transaction.atomic
def erase_session(*, project_id: str, ref: str, actor: str) -> list[str]:
    """Erases the session and its children, which were made from its words; returns the ids of all of them.

    A fork is a session of its own and stays. Erasing again changes nothing.
    """
    root = find_session(project_id=project_id, ref=ref)
    erased = _family(root)
    for session in erased:
        if session.state != AgentSession.State.ERASED:
            _erase(session)
            record_audit(
                team_id=team_of(project_id),
                project_id=project_id,
                actor=actor,
                action="session.erased",
                subject_id=session.pk,
            )
    return [session.pk for session in erased]


def _family(root: AgentSession) -> list[AgentSession]:
    """The session and everything below it, locked in the order of their ids."""
    ids, level = [root.pk], [root.pk]
    while level := list(AgentSession.objects.filter(parent__in=level).values_list("pk", flat=True)):
        ids += level
    rows = list(AgentSession.objects.select_for_update().filter(pk__in=ids).order_by("pk"))
    if not rows:
        raise NotFound()
    return rows


def _erase(session: AgentSession) -> None:
    refs = [session.pk, *([EXTERNAL + session.external_id] if session.external_id else [])]
    for name, blank in _BLANK.items():
        setattr(session, name, blank)
    session.state, session.epoch = AgentSession.State.ERASED, session.epoch + 1
    session.save()
    for model in _CONTENT:
        model._default_manager.filter(session=session).delete()
    jobs.erase_jobs(session.pk)
    forget_answers(project_id=session.project_id, refs=refs, session_id=session.pk)
    _forget_elsewhere(session)


def _forget_elsewhere(session: AgentSession) -> None:
    """What others were told of it: the parent's signals and the deliveries of webhooks."""
    about = Signal.objects.filter(session_id=session.parent_id, kind="SUBAGENT_COMPLETE")
    for signal in about if session.parent_id else ():
        if signal.payload.get("child") == session.pk:
            signal.payload = {"child": session.pk}
            signal.save(update_fields=["payload"])
    deliveries = WebhookDelivery.objects.filter(webhook__project_id=session.project_id)
    rows_holding(deliveries, "body", session.pk.encode()).delete()


@sweep
def erase_outdated_sessions() -> None:
    """Projects that keep content for a time only: sessions without activity since then are erased."""
    now = read_now()
    for project in Project.objects.exclude(retention_days=None):
        oldest = now - timedelta(days=project.retention_days or 0)
        due = AgentSession.objects.of_project(project.pk).filter(last_activity_at__lt=oldest)
        due = due.exclude(state=AgentSession.State.ERASED).order_by("last_activity_at")
        for session_id in list(due.values_list("pk", flat=True)[:ERASED_PER_ROUND]):
            erase_session(project_id=project.pk, ref=session_id, actor="system")
            log.info("session erased after its retention", session=session_id, project=project.pk)
