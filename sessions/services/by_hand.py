"""What people do to a session in the browser: the agents' own services, each with an audit row."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from budgets.services.audit import Author, record_change
from kernel.jobs import queue
from sessions.models import AgentSession, Checkpoint
from sessions.services import compaction, lifecycle, restores, scratch
from sessions.services.checkpoints import write_checkpoint
from sessions.services.erasure import erase_session
from sessions.services.frames import frame_of
from sessions.services.store import lock_session


@transaction.atomic
def compact(*, project_id: str, session_id: str, author: Author) -> str:
    """Queues a compaction; returns the job's id."""
    job_id, plan = compaction.start_compaction(project_id=project_id, ref=session_id)
    _record(project_id, session_id, author, "session.compaction_started", after={"job": job_id, **plan})
    return job_id


@transaction.atomic
def checkpoint(*, project_id: str, session_id: str, author: Author) -> Checkpoint:
    session = lock_session(project_id=project_id, ref=session_id)
    row = write_checkpoint(session, frame_of(session), reason="by hand")
    _record(project_id, session_id, author, "session.checkpointed", after={"checkpoint": row.number})
    return row


@transaction.atomic
def change(*, project_id: str, session_id: str, change: lifecycle.Change, author: Author) -> AgentSession:
    """State, model or profile; before and after are kept."""
    before = _facts(lock_session(project_id=project_id, ref=session_id))
    session, _ = lifecycle.change_session(project_id=project_id, ref=session_id, change=change)
    _record(project_id, session_id, author, "session.changed", before=before, after=_facts(session))
    return session


@transaction.atomic
def restore(*, project_id: str, session_id: str, number: str, author: Author) -> Checkpoint:
    """Returns the checkpoint that undoes it."""
    _, _, undo = restores.restore_head(project_id=project_id, ref=session_id, checkpoint_ref=number)
    after = {"checkpoint": number, "undo": undo.number}
    _record(project_id, session_id, author, "session.restored", after=after)
    return undo


def erase(*, project_id: str, session_id: str, author: Author) -> int:
    """Every word of the session and its children, for good; returns how many sessions. It audits itself."""
    return len(erase_session(project_id=project_id, ref=session_id, actor=author.actor))


@transaction.atomic
def dismiss_dead_end(*, project_id: str, session_id: str, note_id: str, author: Author) -> None:
    scratch.dismiss_dead_end(project_id=project_id, ref=session_id, note_id=note_id)
    _record(project_id, session_id, author, "session.dead_end_dismissed", after={"note": note_id})


@transaction.atomic
def retry_job(*, project_id: str, job_id: str, author: Author) -> None:
    queue.retry(job_id)
    _record(project_id, job_id, author, "job.retried", after=None)


@transaction.atomic
def cancel_job(*, project_id: str, job_id: str, author: Author) -> None:
    queue.cancel(job_id)
    _record(project_id, job_id, author, "job.cancelled", after=None)


def _facts(session: AgentSession) -> dict[str, Any]:
    return {
        "state": session.state,
        "model": session.model,
        "profile": session.profile.name,
        "pinned": session.pinned_revision_id is not None,
    }


def _record(
    project_id: str, session_id: str, author: Author, action: str, *, after: Any, before: Any = None
) -> None:
    record_change(
        project_id=project_id,
        author=author,
        action=action,
        subject_id=session_id,
        before=before,
        after=after,
    )
