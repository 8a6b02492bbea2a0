"""Opening a session, and changing its model, profile, goal, task or state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction

from budgets.services.calibrations import correction
from budgets.services.profiles import resolve_profile
from kernel.clock import read_now
from kernel.errors import Conflict, Invalid
from kernel.ids import new_id
from sessions.models import AgentSession, MemoryEntry, Message, SectionContent, Summary
from sessions.services.checkpoints import write_checkpoint
from sessions.services.compaction_requests import request_due_compaction
from sessions.services.frames import Frame, frame_of
from sessions.services.manifests import summaries_of, weighed_messages
from sessions.services.memory import memory_in_fill_order
from sessions.services.pressure import observe_pressure
from sessions.services.signals import add_signal
from sessions.services.store import find_session, from_bytes, lock_session, put_section, require_section
from teams.models import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a new session is given."""

    model: str
    profile: str | None = None
    external_id: str | None = None
    task: str = ""
    goal: str | None = None
    parent: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    scratch_path: str = ""


@transaction.atomic
def open_session(*, project_id: str, key_id: str, opening: Opening) -> tuple[AgentSession, Frame]:
    project = Project.objects.get(pk=project_id)
    parent = find_session(project_id=project_id, ref=opening.parent) if opening.parent else None
    now = read_now()
    session = AgentSession(
        id=new_id("sess"),
        project_id=project_id,
        key_id=key_id,
        external_id=opening.external_id,
        parent=parent,
        metadata=opening.metadata,
        task=opening.task,
        scratch_path=opening.scratch_path,
        model=opening.model,
        profile=resolve_profile(project_id=project_id, ref=opening.profile),
        keeps_content=project.content_policy == Project.Content.FULL,
        created_at=now,
        last_activity_at=now,
    )
    frame = calibrated_frame(session)
    session.tokenizer = frame.counter.name
    session.parts = {"base": frame.policy.base_load_tokens} if frame.policy.base_load_tokens else {}
    _insert(session)
    if opening.goal is not None:
        put_section(session, frame, name="goal", text=opening.goal)
    session.counted_since_report = 0
    session.save()
    return session, frame


def calibrated_frame(session: AgentSession) -> Frame:
    """Takes over what was learned about the model's tokens; it then holds until the next change of model."""
    model = frame_of(session).model
    session.ratio_bp, session.margin_bp = correction(
        project_id=session.project_id, model=model.canonical_name, tokenizer=model.tokenizer
    )
    return frame_of(session)


def _insert(session: AgentSession) -> None:
    try:
        with transaction.atomic():
            session.save(force_insert=True)
    except IntegrityError:
        raise Conflict(
            f"A session with external_id {session.external_id!r} exists already.", code="external_id_taken"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a PATCH asks for; None leaves a field as it is."""

    model: str | None = None
    profile: str | None = None
    pin_revision: bool | None = None
    goal: str | None = None
    task: str | None = None
    state: str | None = None
    scratch_path: str | None = None
    metadata: dict[str, Any] | None = None


_STATES_BY_HAND = (AgentSession.State.ACTIVE, AgentSession.State.PAUSED, AgentSession.State.ENDED)


@transaction.atomic
def change_session(*, project_id: str, ref: str, change: Change) -> tuple[AgentSession, Frame]:
    """A new model or profile re-budgets at once; if it no longer fits, compaction is due."""
    session = lock_session(project_id=project_id, ref=ref)
    if change.state is not None:
        _change_state(session, change.state)
    for name in ("task", "scratch_path", "metadata"):
        value = getattr(change, name)
        if value is not None:
            setattr(session, name, value)
    if change.profile is not None and change.profile not in (session.profile_id, session.profile.name):
        session.profile = resolve_profile(project_id=project_id, ref=change.profile)
        session.pinned_revision = None
        add_signal(session, "PROFILE_CHANGED", {"profile": session.profile.name})
    if change.pin_revision is not None:
        session.pinned_revision = session.profile.current if change.pin_revision else None
    switched = change.model is not None and change.model != session.model
    frame = _switch_model(session, str(change.model)) if switched else frame_of(session)
    if switched or session.tokenizer != frame.counter.name:
        recount(session, frame)
    if change.goal is not None:
        put_section(session, frame, name="goal", text=change.goal)
    observe_pressure(session, frame)
    if session.used_tokens > frame.total:
        request_due_compaction(session, frame, actions=("compact",))
    session.save()
    return session, frame


def _switch_model(session: AgentSession, model: str) -> Frame:
    write_checkpoint(session, frame_of(session), reason="before model switch")
    add_signal(session, "MODEL_SWITCHED", {"from": session.model, "to": model})
    session.model = model
    return calibrated_frame(session)


def recount(session: AgentSession, frame: Frame) -> None:
    """The live view in another model's tokens; each message keeps its counts of both.

    The last reported prompt stays until the next report: it holds what nobody counted here.
    """
    name = frame.counter.name
    session.tokenizer = name
    parts = {key: session.parts[key] for key in ("base", "protocols") if key in session.parts}
    changed = []
    for rows in weighed_messages(session):
        for row in rows.iterator(chunk_size=500):
            if name not in row.counts:
                row.counts = {**row.counts, **frame.count_body(from_bytes(row.body))}
                changed.append(row)
            parts[row.role] = parts.get(row.role, 0) + row.counts[name]
    Message.objects.bulk_update(changed, ["counts"], batch_size=500)
    parts.update(_recounted_texts(session, frame))
    session.parts = parts
    session.last_prefix = []


def _recounted_texts(session: AgentSession, frame: Frame) -> dict[str, int]:
    sections = list(SectionContent.objects.filter(session=session))
    for row in sections:
        row.tokens = frame.counter.count(from_bytes(row.body))
    SectionContent.objects.bulk_update(sections, ["tokens"])
    counted = {"sections": sum(row.tokens for row in sections)}
    kept: dict[str, Sequence[Summary | MemoryEntry]] = {
        "summary": summaries_of(session),
        "memory": memory_in_fill_order(session, frame),
    }
    for part, entries in kept.items():
        for entry in entries:
            entry.counts = {**entry.counts, frame.counter.name: frame.counter.count(from_bytes(entry.body))}
            entry.save(update_fields=["counts"])
            counted[part] = counted.get(part, 0) + entry.counts[frame.counter.name]
    return counted


def _change_state(session: AgentSession, state: str) -> None:
    if state == session.state:
        return
    if state not in _STATES_BY_HAND:
        raise Invalid(f"state can be set to {', '.join(_STATES_BY_HAND)}.", code="invalid_state")
    if session.paused_by_cap and state == AgentSession.State.ACTIVE:
        raise Conflict("A cost cap paused this session; an approval resumes it.", code="cap_reached")
    session.state = state
    session.pause_reason = "paused by hand" if state == AgentSession.State.PAUSED else ""


@transaction.atomic
def set_section(*, project_id: str, ref: str, name: str, text: str) -> tuple[AgentSession, Frame]:
    session = lock_session(project_id=project_id, ref=ref)
    frame = frame_of(session)
    require_section(frame, name)
    put_section(session, frame, name=name, text=text)
    observe_pressure(session, frame)
    session.save()
    return session, frame
