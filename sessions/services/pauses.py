"""Which sessions a cap stops, and stopping, resuming and wrapping them up, many at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet

from budgets.core.caps import Limit
from budgets.errors import CapReached
from budgets.models import Cap, Scope
from budgets.services.caps import current_limit
from budgets.services.scopes import shown_scope_id
from kernel.errors import ProblemError
from kernel.http.schemas import usd
from sessions.errors import SessionEnded, SessionErased, SessionPaused
from sessions.models import AgentSession, Approval
from sessions.services import interventions
from sessions.services.frames import frame_of
from sessions.services.signals import add_signal

State = AgentSession.State


def sessions_under(limit: Limit, asking: AgentSession) -> QuerySet[AgentSession]:
    """The sessions of the project that cannot go on when this cap is spent.

    Those of the team's other projects, and others with the same model, find out when they ask themselves.
    """
    wanted = Q(pk=asking.pk)
    if limit.scope in (Scope.TEAM, Scope.PROJECT):
        wanted |= Q(state=State.ACTIVE)
    elif limit.scope == Scope.KEY:
        wanted |= Q(state=State.ACTIVE, key_id=limit.scope_id)
    return AgentSession.objects.of_project(asking.project_id).filter(wanted)


def lock_in_order(rows: QuerySet[AgentSession]) -> list[AgentSession]:
    """Always by id: two that pause the same sessions wait for each other instead of dying together."""
    return list(rows.order_by("id").select_for_update())


def lock_what_is_free(rows: QuerySet[AgentSession]) -> list[AgentSession]:
    """Without waiting; who is busy now is paused after the transaction."""
    return list(rows.order_by("id").select_for_update(skip_locked=True))


def pause_sessions(sessions: Iterable[AgentSession], limit: Limit, approval: Approval) -> list[str]:
    """Pauses those that are active, under their locks, and tells each; returns which."""
    active = [session for session in sessions if session.state == State.ACTIVE]
    ids = [session.pk for session in active]
    if not ids:
        return ids
    AgentSession.objects.filter(pk__in=ids, state=State.ACTIVE).update(
        state=State.PAUSED, paused_by_cap=limit.cap_id, pause_reason=pause_reason(limit)
    )
    tell_sessions(active, [("COST_LIMIT", figures(limit)), ("INPUT_REQUESTED", approval_figures(approval))])
    note_paused(approval, ids)
    return ids


def note_paused(approval: Approval, ids: Sequence[str]) -> None:
    approval.paused_sessions = sorted({*approval.paused_sessions, *ids})
    approval.save(update_fields=["paused_sessions"])


def resume_sessions(sessions: Sequence[AgentSession], payload: dict[str, Any]) -> None:
    AgentSession.objects.filter(pk__in=[session.pk for session in sessions], state=State.PAUSED).update(
        state=State.ACTIVE, paused_by_cap="", pause_reason=""
    )
    tell_sessions(sessions, [("APPROVED", payload)])


def wrap_up_sessions(sessions: Sequence[AgentSession], payload: dict[str, Any]) -> None:
    """Their next turn begins with the profile's wrap-up text and is paid from the reserve inside the cap."""
    AgentSession.objects.filter(pk__in=[session.pk for session in sessions], state=State.PAUSED).update(
        state=State.WRAPPING_UP, pause_reason=""
    )
    tell_sessions(sessions, [("DECLINED", payload)])
    for session in sessions:
        template = frame_of(session).policy.interventions.wrap_up
        interventions.queue(session_id=session.pk, kind="wrap_up", text=template)


def tell_sessions(sessions: Sequence[AgentSession], news: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """The same signals to each of many sessions whose rows are locked, and to the project's webhooks."""
    for session in sessions:
        for kind, payload in news:
            add_signal(session, kind, payload)
        AgentSession.objects.filter(pk=session.pk).update(signal_seq=session.signal_seq)


def pause_reason(limit: Limit) -> str:
    name = "the session" if limit.scope == Scope.SESSION else f"the {limit.scope}"
    return f"The cost cap of {name} is reached."


def figures(limit: Limit) -> dict[str, Any]:
    """What every refusal and cost signal says about its cap."""
    return {
        "limit_source": limit.scope,
        "cap": limit.cap_id,
        "scope_id": shown_scope_id(limit.scope, limit.scope_id),
        "period": limit.period,
        "limit_usd": usd(limit.balance.limit_nano),
        "spent_usd": usd(limit.balance.settled_nano),
        "reserved_usd": usd(limit.balance.reserved_nano),
        "resets_at": limit.resets_at.isoformat().replace("+00:00", "Z") if limit.resets_at else None,
    }


def approval_figures(approval: Approval | None) -> dict[str, Any]:
    if approval is None:
        return {"approval": None, "approval_url": None}
    return {
        "approval": approval.pk,
        "approval_url": f"{settings.PUBLIC_URL}/approvals/{approval.pk}",
        "deadline": approval.deadline.isoformat().replace("+00:00", "Z"),
    }


def cap_reached(limit: Limit, approval: Approval | None) -> CapReached:
    paused = approval.paused_sessions if approval else []
    return CapReached(
        pause_reason(limit),
        headers={"x-should-retry": "false"},
        paused_sessions=paused,
        **figures(limit),
        **approval_figures(approval),
    )


def problem_of_state(session: AgentSession) -> ProblemError | None:
    """What a stopped session answers to whoever wants to spend or go on."""
    if session.state == State.ERASED:
        return SessionErased("The content of this session was erased.")
    if session.state == State.ENDED:
        return SessionEnded("This session has ended.")
    if session.state != State.PAUSED:
        return None
    cap = Cap.objects.filter(pk=session.paused_by_cap).first() if session.paused_by_cap else None
    if cap is None:
        return SessionPaused(session.pause_reason or "The session is paused.")
    pending = Approval.objects.of_project(session.project_id).pending().filter(cap_id=cap.pk).first()
    return cap_reached(current_limit(cap), pending)
