"""Looks at the caps after money was spent: warns, pauses and asks a person."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from budgets.core.caps import Limit
from budgets.models import Scope
from budgets.services.admission_sql import enter, limits_at
from budgets.services.caps import claim_crossings
from budgets.services.models import resolve_model
from budgets.services.scopes import Spender
from sessions.models import AgentSession
from sessions.services.approvals import ask, pause_others
from sessions.services.pauses import approval_figures, figures, note_paused, pause_reason
from sessions.services.signals import add_signal
from teams.services import team_of


def observe(
    session: AgentSession, *, model: str | None = None, limits: Sequence[Limit] | None = None
) -> None:
    """Under the session's lock; the caller saves the session row. `limits` as they stand, if at hand."""
    for crossing in claim_crossings(_limits_of(session, model) if limits is None else limits):
        if crossing.is_limit:
            _stop(session, crossing.limit)
        else:
            add_signal(session, "COST_WARNING", figures(crossing.limit))


def spender_of(session: AgentSession, *, model: str | None = None) -> Spender:
    """`model` is a canonical name; without it the session's own model is looked up."""
    return Spender(
        team_id=team_of(session.project_id),
        project_id=session.project_id,
        session_id=session.pk,
        key_id=session.key_id,
        model=model or resolve_model(project_id=session.project_id, name=session.model).canonical_name,
    )


def _limits_of(session: AgentSession, model: str | None) -> list[Limit]:
    account = enter(session.project_id)
    return limits_at(spender_of(session, model=model).scopes, account.now, account.zone)


def _stop(session: AgentSession, limit: Limit) -> None:
    add_signal(session, "COST_LIMIT", figures(limit))
    alone = limit.scope == Scope.SESSION
    if alone and session.state != AgentSession.State.ACTIVE:
        return
    approval = ask(session, limit, needed_nano=0)
    if session.state == AgentSession.State.ACTIVE:
        session.state = AgentSession.State.PAUSED
        session.paused_by_cap, session.pause_reason = limit.cap_id, pause_reason(limit)
        note_paused(approval, [session.pk])
        add_signal(session, "INPUT_REQUESTED", approval_figures(approval))
    if not alone:
        # The others' rows are not ours to lock while we hold this one and its balances.
        transaction.on_commit(lambda: pause_others(approval.pk, limit))
