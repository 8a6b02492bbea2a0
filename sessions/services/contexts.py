"""The next context: reads only what can fit, lets the pure assembly decide, stores the proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction

from budgets.tokens import cut_to_tokens, message_tokens, reply_tokens
from kernel.clock import read_now
from kernel.errors import Invalid, ProblemError
from kernel.ids import new_id
from kernel.rows import insert_rows, update_row
from providers.render import render
from providers.validity import validate
from sessions.core.assembly import assemble
from sessions.core.errors import ContextTooLarge as TooLargeToAssemble
from sessions.core.message import Hit
from sessions.core.request import AssemblyRequest, ContextPlan, Ruler
from sessions.errors import ContentNotKept, ContextTooLarge
from sessions.models import AgentSession, Assembly
from sessions.services import context_reading as reading
from sessions.services import exhaustion, interventions, retrieval, rollups
from sessions.services.compaction_requests import request_due_compaction
from sessions.services.frames import Frame, frame_of
from sessions.services.manifests import view_bounds
from sessions.services.pauses import problem_of_state
from sessions.services.store import (
    lock_session,
    read_tail,
    require_section,
    section_texts,
)

FULL_BP = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWish:
    """What the agent asks of one context, beyond what its session says."""

    query: str = ""
    mode: str | None = None
    max_output: int | None = None
    sections: Mapping[str, str] = field(default_factory=dict)
    hits: Sequence[Hit] = ()
    format: str = "openai"
    budget_tokens: int | None = None
    sticky: bool = True


@transaction.atomic(savepoint=False)
def next_context(*, project_id: str, ref: str, wish: ContextWish) -> dict[str, Any] | ProblemError:
    """The messages to send now, with the proof that they fit; changes no content.

    A problem is returned, not raised, where what it says must be committed.
    """
    session = lock_session(project_id=project_id, ref=ref)
    stopped = _stopped(session)
    if stopped is not None:
        return stopped
    frame = _narrowed(frame_of(session, mode=wish.mode, max_output=wish.max_output), wish.budget_tokens)
    for name in wish.sections:
        require_section(frame, name)
    waiting = interventions.at_start(session)
    request = _request(session, frame, wish, "\n".join(row.text for row in waiting))
    try:
        plan = assemble(request)
    except TooLargeToAssemble as refusal:
        exhausted = exhaustion.clear_overflow(session, frame) if wish.budget_tokens is None else None
        if exhausted is not None:
            return exhausted
        raise _too_large(refusal) from None
    rendered = render(plan.system, list(plan.messages), wish.format)
    # A call that still waits for its result is the agent's to answer before it sends.
    problems = validate(rendered.messages, wish.format, open_calls_allowed=True)
    report = {**plan.report, "valid": plan.report["valid"] and not problems, "format_problems": problems}
    assembly = _store_proof(session, frame, plan, report, moves_cut=wish.budget_tokens is None)
    interventions.mark_delivered(waiting)
    return {
        "model": session.model,
        "system": rendered.system or "",
        "messages": rendered.messages,
        "interventions": [interventions.intervention_json(row) for row in waiting],
        "hold": None,
        "report": {**report, "assembly": assembly.pk, "revision": frame.revision.number},
    }


def _stopped(session: AgentSession) -> ProblemError | None:
    if not session.keeps_content:
        raise ContentNotKept(
            "This project keeps numbers only: there are no words to assemble a context from."
        )
    return problem_of_state(session) or exhaustion.tell(session)


def _too_large(refusal: TooLargeToAssemble) -> ContextTooLarge:
    return ContextTooLarge(
        refusal.detail,
        model=refusal.model,
        used=refusal.used,
        max_input=refusal.max_input,
        safe=refusal.safe,
        sections=list(refusal.sections),
        remedies=list(refusal.remedies),
    )


def _narrowed(frame: Frame, budget_tokens: int | None) -> Frame:
    """A smaller budget for this one call; never a larger one."""
    if budget_tokens is None or budget_tokens >= frame.total:
        return frame
    if budget_tokens < 1:
        raise Invalid("budget_tokens must be at least 1.", code="invalid_budget")
    return replace(frame, window=replace(frame.window, max_input=budget_tokens))


def _request(
    session: AgentSession, frame: Frame, wish: ContextWish, intervention_text: str
) -> AssemblyRequest:
    # A one-off smaller budget must not move the boundary that the session's own budget keeps stable.
    own_budget = wish.budget_tokens is None
    cut_seq = session.cut_seq if own_budget else session.base_seq
    tail = read_tail(session, frame, after_seq=session.base_seq, room_tokens=frame.total)
    recent_from = reading.first_recent_seq(frame, tail, one_off=not own_budget)
    head, middle = reading.story_parts(session, frame, tail)
    base_seq, head_seq = view_bounds(session)
    return AssemblyRequest(
        policy=frame.policy,
        window=frame.window,
        model=session.model,
        ruler=ruler_of(frame),
        sections={**section_texts(session), **reading.protocol_section(session, frame), **wish.sections},
        memory=reading.memory_items(session, frame),
        summaries=reading.summary_items(
            session, frame, one_off=not own_budget and not wish.query, recent_from=recent_from
        ),
        hits=[
            *wish.hits,
            *retrieval.hits_for(
                session,
                frame,
                wish.query,
                before_seq=recent_from,
                room_tokens=reading.hit_room(frame, one_off=not own_budget),
            ),
        ],
        tail=tail,
        head=head,
        middle=middle,
        anchors=reading.anchors_of_session(session, frame, tail),
        base_seq=base_seq,
        cut_seq=cut_seq,
        head_seq=head_seq,
        live_tokens=session.counted_tokens,
        query=wish.query,
        interventions=intervention_text,
        previous_prefix=[tuple(piece) for piece in session.last_prefix] if own_budget else [],
        sticky=wish.sticky and own_budget,
        one_off=not own_budget,
        overhead_tokens=reply_tokens(frame.counter),
        source=frame.counter.source,
    )


def ruler_of(frame: Frame) -> Ruler:
    counter = frame.counter
    return Ruler(
        count=counter.count,
        cut=lambda text, limit: cut_to_tokens(counter, text, limit),
        count_message=lambda body: message_tokens(counter, body),
        high=counter.high,
    )


def _store_proof(
    session: AgentSession, frame: Frame, plan: ContextPlan, report: dict[str, Any], *, moves_cut: bool
) -> Assembly:
    """Keeps the figures, moves the sticky cut, asks for compaction when something fell out of the view."""
    now = read_now()
    number = session.assemblies_made = session.assemblies_made + 1
    assembly = Assembly(
        id=new_id("asm"),
        session=session,
        number=number,
        epoch=session.epoch,
        revision=frame.revision,
        model=session.model,
        report=report,
        created_at=now,
    )
    insert_rows([assembly])
    if moves_cut:
        session.cut_seq = plan.cut_seq
        session.last_prefix = [list(piece) for piece in plan.prefix]
        session.dropped_unsummarised = report["dropped_unsummarised"]
        session.assembled_tokens = plan.tokens * FULL_BP // session.ratio_bp
    rollups.add_assembly(session, model=session.model, at=now, sections=report["sections"])
    request_due_compaction(session, frame, actions=())
    update_row(session)
    return assembly
