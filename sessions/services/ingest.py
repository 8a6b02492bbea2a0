"""Records what an agent reports: one batch, one transaction, every event once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from kernel.errors import Invalid
from kernel.faults import fault
from kernel.rows import insert_rows_and_update
from providers.errors import EventInvalid
from providers.formats import parse_events
from providers.formats.common import is_clean
from providers.parsed import ParsedEvent
from sessions.core.message import body_text, result_id_of
from sessions.errors import MessageTooLarge
from sessions.models import AgentSession, ReportedEvent
from sessions.services import interventions, spending
from sessions.services.archive import INDEX_EVERY, request_indexing
from sessions.services.budget_view import budget_summary
from sessions.services.calibration import request_calibration
from sessions.services.checkpoints import clear_context
from sessions.services.frames import Frame, frame_of
from sessions.services.pressure import observe_pressure, trend_line
from sessions.services.recorder import Recorder
from sessions.services.signals import signal_json
from sessions.services.store import lock_session, to_bytes

# Far above what any provider lets a model call at once.
MAX_CALLS = 1_000


def record_events(*, project_id: str, ref: str, format: str, events: list[Any]) -> dict[str, Any]:
    """Everything that the events say, or nothing; the answer says what is left and what to inject."""
    if not 1 <= len(events) <= settings.MAX_BATCH_EVENTS:
        raise Invalid(f"A batch holds 1 to {settings.MAX_BATCH_EVENTS:,} events.", code="invalid_batch")
    parsed = parse_events(format, events)
    _refuse_oversized(parsed)
    _refuse_unstorable_ids(parsed)
    with transaction.atomic(savepoint=False):
        session = lock_session(project_id=project_id, ref=ref)
        frame = frame_of(session)
        session.last_activity_at = session.read_at
        answer, kept = _record(session, frame, parsed, count=len(events))
        insert_rows_and_update(kept, session)
        fault("events.commit.before")
    return answer


def _record(
    session: AgentSession, frame: Frame, parsed: Sequence[ParsedEvent], *, count: int
) -> tuple[dict[str, Any], list[ReportedEvent]]:
    """The answer, and the events as they are to be kept."""
    signals_before, head_before = session.signal_seq, session.head_seq
    known = _known_event_ids(session, parsed)
    fresh = _without_duplicates(parsed, known)
    recorder = Recorder(session, frame, now=session.last_activity_at)
    for event in fresh:
        recorder.record(event)
    recorder.flush()
    lines: list[str] = []
    warning = None
    if recorder.changed_view:
        spoken = observe_pressure(session, frame, now=recorder.now)
        warning, lines = spoken.warning, list(spoken.lines)
    reasons = recorder.boundary.reasons(session, frame)
    if reasons:
        clear_context(session, frame, reasons=reasons)
    if recorder.turns_added:
        lines += [line for line in [trend_line(session)] if line]
        spending.observe(session, model=frame.model.canonical_name, limits=recorder.limits)
        request_calibration(session, frame)
    if session.head_seq // INDEX_EVERY > head_before // INDEX_EVERY:
        request_indexing(session, to_seq=session.head_seq)
    accepted = {event.index for event in fresh}
    answer = {
        "accepted": len(accepted),
        "duplicates": count - len(accepted),
        "results": _results(parsed, accepted, recorder, count),
        "budget": {**budget_summary(session, frame), "message": warning, "messages": lines},
        "signals": [
            signal_json(row) for row in session.signals.filter(number__gt=signals_before).order_by("number")
        ]
        if session.signal_seq > signals_before
        else [],
        "interventions": [interventions.intervention_json(row) for row in interventions.answered(session)],
    }
    return answer, _kept_events(session, fresh, recorder)


def _refuse_oversized(parsed: Sequence[ParsedEvent]) -> None:
    for event in parsed:
        body = event.message or {}
        calls = [call for call in body.get("tool_calls") or [] if isinstance(call, dict)]
        if len(calls) > MAX_CALLS:
            raise MessageTooLarge(f"The message of event {event.index} makes more than {MAX_CALLS:,} calls.")
        arguments = (str(call.get("function", {}).get("arguments", "")) for call in calls)
        if len(body_text(body)) + sum(map(len, arguments)) > settings.MAX_MESSAGE_CHARACTERS:
            limit = f"{settings.MAX_MESSAGE_CHARACTERS:,}"
            raise MessageTooLarge(f"The message of event {event.index} is longer than {limit} characters.")


def _refuse_unstorable_ids(parsed: Sequence[ParsedEvent]) -> None:
    """Content may hold anything; the id by which a result finds its call is a column."""
    for event in parsed:
        result_id = result_id_of(event.message) if event.message is not None else None
        if result_id is not None and not is_clean(result_id):
            detail = "The id of a tool call must not hold NUL or lone surrogates."
            raise EventInvalid(f"/events/{event.index}", detail, code="invalid_text")


def _known_event_ids(session: AgentSession, parsed: Sequence[ParsedEvent]) -> set[str]:
    ids = sorted({event.event_id for event in parsed if event.event_id})
    if not ids:
        return set()
    marks = ", ".join(["%s"] * len(ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT event_id FROM {ReportedEvent._meta.db_table}"
            f" WHERE session_id = %s AND event_id IN ({marks})",
            [session.pk, *ids],
        )
        return {row[0] for row in cursor.fetchall()}


def _without_duplicates(parsed: Sequence[ParsedEvent], known: set[str]) -> list[ParsedEvent]:
    """Parts of one event share its index and go together; an id seen before, here or stored, is skipped."""
    fresh: list[ParsedEvent] = []
    owner: dict[str, int] = {}
    for event in parsed:
        if event.event_id and (
            event.event_id in known or owner.setdefault(event.event_id, event.index) != event.index
        ):
            continue
        fresh.append(event)
    return fresh


def _kept_events(
    session: AgentSession, fresh: Sequence[ParsedEvent], recorder: Recorder
) -> list[ReportedEvent]:
    """The events as they came; messages are kept as messages, so their payload is not kept twice."""
    rows: dict[int, ReportedEvent] = {}
    for event in fresh:
        row = rows.get(event.index)
        if row is None:
            row = rows[event.index] = ReportedEvent(
                session=session,
                event_id=event.event_id,
                kind=event.kind,
                payload=b"",
                created_at=recorder.now,
            )
        if event.kind == "message":
            row.first_seq = row.first_seq or recorder.seq_of.get(id(event))
        elif not row.payload:
            row.payload = to_bytes(event.payload if session.keeps_content else {})
    return list(rows.values())


def _results(
    parsed: Sequence[ParsedEvent], accepted: set[int], recorder: Recorder, count: int
) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = [{"index": index, "status": "ignored"} for index in range(count)]
    for event in parsed:
        row = results[event.index]
        row["event_id"] = event.event_id
        if event.index not in accepted:
            row["status"] = "duplicate"
            continue
        row["status"] = "accepted"
        row.setdefault("kind", event.kind)
        seq = recorder.seq_of.get(id(event))
        if seq is not None:
            row.setdefault("seq", seq)
    return results
