"""Protocols: named documents that an agent loads just in time and unloads to a reference."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from budgets.tokens import counter_for
from kernel.clock import read_now
from kernel.errors import NotFound
from kernel.ids import new_id
from sessions.models import AgentSession, Protocol
from sessions.services.frames import frame_of
from sessions.services.pressure import observe_pressure
from sessions.services.store import changing_session, from_bytes, to_bytes
from teams.services import record_audit

# Where only a size class is known (SPEC C6).
SIZE_CLASSES = {"small": 500, "medium": 1_000, "large": 1_500}


@transaction.atomic
def register_protocol(
    *, project_id: str, team_id: str, actor: str, name: str, text: str, action: str, size: str | None
) -> Protocol:
    """Creates or replaces the entry of that name; running sessions take the new text when they load it."""
    now = read_now()
    tokens = counter_for("generic").count(text) if text or size is None else SIZE_CLASSES[size]
    protocol, _ = Protocol.objects.update_or_create(
        project_id=project_id,
        name=name,
        defaults={"body": to_bytes(text), "action": action, "tokens": tokens, "updated_at": now},
        create_defaults={
            "id": new_id("prot"),
            "body": to_bytes(text),
            "action": action,
            "tokens": tokens,
            "created_at": now,
            "updated_at": now,
        },
    )
    record_audit(
        team_id=team_id,
        project_id=project_id,
        actor=actor,
        action="protocol.registered",
        subject_id=protocol.pk,
    )
    return protocol


def load_into_session(*, project_id: str, ref: str, name: str) -> tuple[AgentSession, Protocol]:
    """What is loaded weighs on the budget at once."""
    with changing_session(project_id=project_id, ref=ref) as session:
        protocol = load(session, name=name)
        observe_pressure(session, frame_of(session))
    return session, protocol


def unload_from_session(*, project_id: str, ref: str, name: str) -> AgentSession:
    with changing_session(project_id=project_id, ref=ref) as session:
        unload(session, name=name)
    return session


def load(session: AgentSession, *, name: str) -> Protocol:
    """Under the session's lock; `name` may be the protocol's, or the action that its entry names."""
    rows = Protocol.objects.of_project(session.project_id)
    protocol = rows.filter(name=name).first() or rows.filter(action=name).exclude(action="").first()
    if protocol is None:
        raise NotFound(f"The project has no protocol {name!r}.", code="unknown_protocol")
    _set(session, {**session.protocols, protocol.name: protocol.tokens})
    return protocol


def unload(session: AgentSession, *, name: str) -> None:
    """The content leaves the context; the reference stays, so that it can be loaded again."""
    if name not in session.protocols:
        raise NotFound(f"The protocol {name!r} is not loaded.", code="protocol_not_loaded")
    _set(session, {**session.protocols, name: 0})


def loaded_texts(session: AgentSession) -> dict[str, str]:
    names = [name for name, tokens in session.protocols.items() if tokens]
    rows = (
        Protocol.objects.of_project(session.project_id).filter(name__in=names).order_by("name")
        if names
        else []
    )
    return {row.name: from_bytes(row.body) for row in rows}


def running_total(session: AgentSession) -> dict[str, Any]:
    """The running total with its parts: base, protocols, user messages, tool outputs, generated text."""
    parts = session.parts
    return {
        "total": session.counted_tokens,
        "parts": {
            "base": parts.get("base", 0),
            "protocols": parts.get("protocols", 0),
            "user_messages": parts.get("user", 0),
            "tool_outputs": parts.get("tool", 0),
            "generated_text": parts.get("assistant", 0),
            "other": parts.get("sections", 0)
            + parts.get("summary", 0)
            + parts.get("memory", 0)
            + parts.get("system", 0),
        },
        "loaded": {name: tokens for name, tokens in session.protocols.items() if tokens},
        "references": [name for name, tokens in session.protocols.items() if not tokens],
    }


def _set(session: AgentSession, loaded: dict[str, int]) -> None:
    before = session.parts.get("protocols", 0)
    session.protocols = loaded
    session.parts["protocols"] = sum(loaded.values())
    session.counted_since_report = max(0, session.counted_since_report + session.parts["protocols"] - before)
