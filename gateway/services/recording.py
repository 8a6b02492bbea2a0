"""What a worker writes into the session after a call: the messages that are new, the answer, the usage."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import transaction

from budgets.core.usage import TokenUsage
from gateway.conversations import SYSTEM_HEAD
from gateway.core.listening import Heard
from gateway.services.histories import Event, history_of, known_events
from gateway.values import OpenCall
from kernel.errors import ProblemError
from kernel.jobs import queue
from kernel.jobs.registry import ClaimedJob, JobFailed
from sessions.models import AgentSession, ReportedEvent
from sessions.services.agent_summaries import take_agent_summary
from sessions.services.frames import frame_of
from sessions.services.ingest import record_events
from sessions.services.store import lock_session, section_texts

RESTARTED = "The agent began its conversation anew here; the messages before are in the archive."
_BATCH = 500


def recording(call: OpenCall, heard: Heard, usage: TokenUsage, response_id: str) -> Event:
    """The payload of the call's job. A history that is known already is not written down again."""
    spent = {"usage": _vendor_usage(usage), "model": call.wanted.request.model, "response_id": response_id}
    usage_event = {"event_id": f"gw:{call.hold_id}", "type": "usage", **spent}
    if not call.keeps_content:
        return {"hold": call.hold_id, "conversation": None, "events": [usage_event]}
    history = history_of(call.wanted, call.measured, session_id=call.session_id, heard=heard)
    return {
        "hold": call.hold_id,
        "conversation": history.conversation,
        "events": [*history.events, usage_event],
    }


def _vendor_usage(usage: TokenUsage) -> dict[str, Any]:
    counters = asdict(usage)
    return {
        "input_tokens": counters["input_tokens"],
        "cache_read_input_tokens": counters["cache_read_tokens"],
        "cache_creation_input_tokens": counters["cache_write_5m_tokens"] + counters["cache_write_1h_tokens"],
        "cache_creation": {
            "ephemeral_5m_input_tokens": counters["cache_write_5m_tokens"],
            "ephemeral_1h_input_tokens": counters["cache_write_1h_tokens"],
        },
        "output_tokens": counters["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": counters["reasoning_tokens"]},
    }


def record_call(job: ClaimedJob) -> dict[str, Any]:
    """Done again after a crash it changes nothing: every event has its id."""
    payload = job.payload
    try:
        recorded = record_history(job.project_id, job.subject_id, payload["conversation"], payload["events"])
    except ProblemError as refusal:
        raise JobFailed(refusal.detail, final=True) from None
    # The words are in the session now, under its rules for keeping and erasing.
    queue.held(job).update(payload={"hold": payload["hold"], "conversation": None, "events": []})
    return {"hold": payload["hold"], "recorded": recorded}


@transaction.atomic
def record_history(project_id: str, session_id: str, conversation: Event | None, events: list[Event]) -> int:
    """How many of the events were new to the session."""
    session = lock_session(project_id=project_id, ref=session_id)
    if conversation is not None and session.head_seq == 0 and conversation["system"]:
        events = [_system_event(conversation["system"]), *events]
    elif conversation is not None and session.head_seq > 0:
        events = _fitted(session, conversation, events)
    events = _without_old_usage(session, events)
    accepted = 0
    for start in range(0, len(events), _BATCH):
        answer = record_events(
            project_id=project_id, ref=session_id, format="native", events=events[start : start + _BATCH]
        )
        accepted += int(answer["accepted"])
    return accepted


def _fitted(session: AgentSession, conversation: Event, events: list[Event]) -> list[Event]:
    """What of a call belongs into a session that has messages already."""
    if not belongs(session, conversation):
        return []
    first = conversation["first"]
    if not first or known_events(session.pk, [first]):
        return events
    if not _recorded_here(session):
        # The agent reports its messages itself; only it knows how they belong together.
        return [event for event in events if event["type"] == "usage"]
    # The history no longer starts as it did: the agent compacted itself, or was given something new.
    take_agent_summary(session, frame_of(session), text=RESTARTED, starts_epoch=True)
    session.save()
    return events


def belongs(session: AgentSession, conversation: Event) -> bool:
    """False for another agent's call within this session (a title, a subagent): it has its own context."""
    if session.head_seq == 0:
        return True
    ours = section_texts(session).get("system_prompt", "")
    return bool(conversation["system"][:SYSTEM_HEAD] == ours[:SYSTEM_HEAD])


def _recorded_here(session: AgentSession) -> bool:
    rows = ReportedEvent.objects.filter(session=session, kind="message")
    return rows.filter(event_id__startswith="gw:").exists()


def _without_old_usage(session: AgentSession, events: list[Event]) -> list[Event]:
    """Two workers may overtake each other: the context is as large as the later call says."""
    rows = ReportedEvent.objects.filter(session=session, event_id__startswith="gw:hold_")
    return [
        event
        for event in events
        if event["type"] != "usage" or not rows.filter(event_id__gt=event["event_id"]).exists()
    ]


def _system_event(text: str) -> Event:
    return {"event_id": "gw:system", "type": "message", "message": {"role": "system", "content": text}}


def is_open(job: ClaimedJob) -> bool:
    """The gateway never handed it over."""
    return "events" not in job.payload
