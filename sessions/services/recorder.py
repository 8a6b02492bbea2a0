"""What each kind of event changes in its session; runs under the session's lock and saves nothing of it."""

from __future__ import annotations

from budgets.core.cost import cost_nano_usd
from budgets.core.usage import TokenUsage
from budgets.services.ledger import record_usage
from budgets.services.models import resolve_model
from kernel.clock import read_now
from providers.parsed import ParsedEvent
from sessions.models import AgentSession, Turn
from sessions.services import interventions, protocols, rollups, scratch
from sessions.services.agent_summaries import take_agent_summary
from sessions.services.frames import Frame
from sessions.services.store import append_messages, put_section
from sessions.services.triggers import TurnBoundary


class Recorder:
    """Collects the messages of a batch and applies everything else in order."""

    def __init__(self, session: AgentSession, frame: Frame) -> None:
        self.session = session
        self.frame = frame
        self.seq_of: dict[int, int] = {}
        self.changed_view = False
        self.turns_added = 0
        self.boundary = TurnBoundary()
        self._pending: list[ParsedEvent] = []

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
            self.session, self.frame, [(e.message or {}, e.is_human, e.pinned) for e in events]
        )
        for event, message in zip(events, stored, strict=True):
            self.seq_of[id(event)] = message.seq
        self.boundary.read_messages(stored)
        scratch.note_stream(self.session, self.frame, stored)
        self.changed_view = True

    def _message(self, event: ParsedEvent) -> None:
        body = event.message or {}
        if body.get("role") == "system" and self.session.head_seq == 0 and not self._pending:
            # The opening system message is the system prompt, not a turn of the conversation.
            content = body.get("content")
            put_section(
                self.session,
                self.frame,
                name="system_prompt",
                text=content if isinstance(content, str) else "",
            )
            self.changed_view = True
            return
        self._pending.append(event)

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
        session, now = self.session, read_now()
        model = (
            resolve_model(project_id=session.project_id, name=event.model)
            if event.model
            else self.frame.model
        )
        cost = cost_nano_usd(usage, model.price)
        turn = self._known_turn(event.response_id)
        if turn is not None:
            self._take_back(turn)
        else:
            session.turns += 1
            self.turns_added += 1
            turn = Turn(session=session, number=session.turns, response_id=event.response_id, created_at=now)
        turn.model, turn.usage, turn.cost_nano = model.canonical_name, _usage_document(usage), cost
        turn.used_tokens, turn.total_tokens = session.used_tokens, self.frame.total
        turn.save()
        self._add_totals(turn, usage, sign=1)
        record_usage(
            project_id=session.project_id,
            session_id=session.pk,
            key_id=session.key_id,
            model=model.canonical_name,
            usage=usage,
            price=model.price,
            occurred_at=now,
            response_id=event.response_id,
        )

    def _known_turn(self, response_id: str | None) -> Turn | None:
        if response_id is None:
            return None
        return Turn.objects.filter(session=self.session, response_id=response_id).first()

    def _take_back(self, turn: Turn) -> None:
        self._add_totals(turn, TokenUsage(**turn.usage), sign=-1)

    def _add_totals(self, turn: Turn, usage: TokenUsage, *, sign: int) -> None:
        session = self.session
        session.input_tokens += sign * usage.input_tokens
        session.cache_read_tokens += sign * usage.cache_read_tokens
        session.cache_write_tokens += sign * (usage.cache_write_5m_tokens + usage.cache_write_1h_tokens)
        session.output_tokens += sign * usage.output_tokens
        session.spent_nano += sign * (turn.cost_nano or 0)
        session.has_unpriced = session.has_unpriced or turn.cost_nano is None
        rollups.add_call(
            session,
            model=turn.model,
            at=turn.created_at,
            usage=usage,
            cost_nano=turn.cost_nano,
            calls=sign,
            used=turn.used_tokens,
            total=turn.total_tokens,
            sign=sign,
        )

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


def _usage_document(usage: TokenUsage) -> dict[str, int]:
    return {
        "input_tokens": usage.input_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_5m_tokens": usage.cache_write_5m_tokens,
        "cache_write_1h_tokens": usage.cache_write_1h_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
