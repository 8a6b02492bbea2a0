"""What each kind of event changes in its session; runs under the session's lock and saves nothing of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from budgets.core.caps import Limit
from budgets.core.usage import TokenUsage
from budgets.services.ledger import record_usage
from budgets.services.models import resolve_model
from providers.parsed import ParsedEvent
from sessions.core.message import body_text
from sessions.models import AgentSession
from sessions.services import interventions, protocols, scratch
from sessions.services.agent_summaries import take_agent_summary
from sessions.services.frames import Frame
from sessions.services.spent_turns import count_turn
from sessions.services.store import append_messages, put_section, section_text
from sessions.services.triggers import TurnBoundary


class Recorder:
    """Collects the messages of a batch and applies everything else in order."""

    def __init__(self, session: AgentSession, frame: Frame, *, now: datetime) -> None:
        self.session = session
        self.frame = frame
        self.now = now
        self.seq_of: dict[int, int] = {}
        self.changed_view = False
        self.turns_added = 0
        self.boundary = TurnBoundary()
        self._pending: list[ParsedEvent] = []
        self._limits: dict[str, Limit] | None = {}

    def record(self, event: ParsedEvent) -> None:
        if event.kind == "message":
            self._message(event)
            if event.usage is None:
                return
        if event.usage is not None:
            self.flush()
            self._usage(event, event.usage)
        handler = getattr(self, f"_{event.kind}", None)
        if handler is not None and event.kind not in ("message", "usage"):
            self.flush()
            handler(event)

    def flush(self) -> None:
        """Appends the messages gathered so far, in order, with one insert."""
        if not self._pending:
            return
        events, self._pending = self._pending, []
        stored = append_messages(
            self.session, self.frame, [(e.message or {}, e.is_human, e.pinned) for e in events], now=self.now
        )
        for event, message in zip(events, stored, strict=True):
            self.seq_of[id(event)] = message.seq
        self.boundary.read_messages(stored)
        scratch.note_stream(self.session, self.frame, stored)
        self.changed_view = True

    def _message(self, event: ParsedEvent) -> None:
        body = event.message or {}
        if body.get("role") == "system" and self.session.head_seq == 0 and not self._pending:
            self._opening(body_text(body))
            return
        self._pending.append(event)

    def _opening(self, text: str) -> None:
        """System messages before the first turn are the system prompt; a second one is added to the first."""
        known = section_text(self.session, "system_prompt")
        if text not in known:
            whole = f"{known}\n\n{text}" if known else text
            put_section(self.session, self.frame, name="system_prompt", text=whole)
        self.changed_view = True

    def _usage(self, event: ParsedEvent, usage: TokenUsage) -> None:
        session = self.session
        if event.usage_scope != "subagent":
            session.reported_prompt = usage.prompt_tokens
            session.counted_since_report = 0
            self.changed_view = True
        if event.usage_scope == "result":
            repeated, session.responses_since_result = session.responses_since_result, 0
            if repeated:
                return
        elif event.usage_scope == "response":
            session.responses_since_result += 1
        self._spend(event, usage)

    def _spend(self, event: ParsedEvent, usage: TokenUsage) -> None:
        session = self.session
        model = (
            resolve_model(project_id=session.project_id, name=event.model)
            if event.model
            else self.frame.model
        )
        recorded = record_usage(
            project_id=session.project_id,
            session_id=session.pk,
            key_id=session.key_id,
            model=model.canonical_name,
            usage=usage,
            price=model.price,
            occurred_at=self.now,
            response_id=event.response_id,
        )
        self._note_limits(recorded.limits)
        self.turns_added += count_turn(session, recorded.entry, budget_tokens=self.frame.total)

    def _note_limits(self, limits: Sequence[Limit] | None) -> None:
        """A later entry knows a cap better than an earlier one; without it all have to be read again."""
        if limits is None or self._limits is None:
            self._limits = None
            return
        self._limits.update((limit.cap_id, limit) for limit in limits)

    @property
    def limits(self) -> list[Limit] | None:
        """The caps that the batch was counted against, as they stand now, or None where not all are known."""
        return None if self._limits is None else [self._limits[cap_id] for cap_id in sorted(self._limits)]

    def _state_change(self, event: ParsedEvent) -> None:
        scratch.add_state_change(
            self.session,
            previous=str(event.payload.get("previous", "")),
            new=str(event.payload.get("new", "")),
        )

    def _dead_end(self, event: ParsedEvent) -> None:
        scratch.add_dead_end(self.session, str(event.payload.get("description", "")))

    def _phase(self, event: ParsedEvent) -> None:
        self.boundary.phase_changed(self.session, str(event.payload.get("phase", "")))

    def _story_complete(self, event: ParsedEvent) -> None:
        self.boundary.story_completed(self.session, event.payload)

    def _subagent_complete(self, event: ParsedEvent) -> None:
        self.session.subagents_done += 1

    def _checkpoint(self, event: ParsedEvent) -> None:
        self.boundary.checkpoint_reported(self.session, event.payload)

    def _protocol_load(self, event: ParsedEvent) -> None:
        protocols.load(self.session, name=str(event.payload.get("name", "")))
        self.changed_view = True

    def _protocol_unload(self, event: ParsedEvent) -> None:
        protocols.unload(self.session, name=str(event.payload.get("name", "")))
        self.changed_view = True

    def _summary(self, event: ParsedEvent) -> None:
        """An agent that compacted itself: a new epoch, its own summary stands for what came before."""
        take_agent_summary(self.session, self.frame, text=event.text or "", starts_epoch=event.starts_epoch)
        interventions.withdraw(self.session, "compact")
        self.changed_view = True
