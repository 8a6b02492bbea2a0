"""Holds of a session: money is set aside, a full cap pauses and asks, settled usage becomes a turn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from budgets.core.caps import Refusal
from budgets.errors import CapBusy
from budgets.models import Hold, Scope
from budgets.services import holds
from budgets.services.admission_sql import Account, enter, limits_at, session_of_hold
from budgets.services.holds import Actual, Admission
from budgets.services.models import ResolvedModel, resolve_model
from budgets.services.pricing import Estimate, estimate_cost, estimate_tokens
from budgets.services.scopes import Spender, register_resolver
from kernel.errors import NotFound, ProblemError
from kernel.rows import fetch_row, update_row
from sessions.models import AgentSession
from sessions.services.approvals import ask, pause_others
from sessions.services.frames import frame_of
from sessions.services.pauses import (
    approval_figures,
    cap_reached,
    figures,
    lock_in_order,
    lock_what_is_free,
    pause_sessions,
    problem_of_state,
    sessions_under,
)
from sessions.services.spending import observe
from sessions.services.spent_turns import count_turn
from sessions.services.store import find_session

# A model call takes seconds: by then a hold that stands in the way is settled or voided.
RETRY_AFTER_SECONDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldWish:
    """What an agent wants to set aside: the cost itself, or tokens to be priced."""

    input_tokens: int = 0
    output_tokens: int | None = None
    cost_nano: int | None = None
    model: str | None = None
    ttl: timedelta = holds.DEFAULT_TTL
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """An admitted hold, what is left after it, and what its amount rests on."""

    admission: Admission
    estimate: Estimate


@transaction.atomic(savepoint=False)
def place_hold(*, project_id: str, ref: str, key_id: str, wish: HoldWish) -> Placed | ProblemError:
    """The hold, or the problem to answer with: a pause at a cap must be committed, so it is not raised."""
    session = find_session(project_id=project_id, ref=ref)
    stopped = problem_of_state(session)
    if stopped is not None:
        return stopped
    account = enter(project_id)
    model = resolve_model(project_id=project_id, name=wish.model or session.model)
    spender = Spender(
        team_id=account.team_id,
        project_id=project_id,
        session_id=session.pk,
        key_id=key_id,
        model=model.canonical_name,
    )
    estimate = _estimate(account, session, model, wish)
    wraps_up = session.state == AgentSession.State.WRAPPING_UP
    answer = holds.reserve(
        account=account,
        spender=spender,
        estimate=estimate,
        requested_model=model.name,
        ttl=wish.ttl,
        wrap_up=wraps_up,
        dry_run=wish.dry_run,
    )
    if isinstance(answer, Admission):
        return Placed(admission=answer, estimate=estimate)
    if answer.busy:
        return _busy(answer)
    if wish.dry_run or wraps_up:
        return cap_reached(answer.limit, None)
    return _pause_and_ask(session, spender, answer)


def _estimate(account: Account, session: AgentSession, model: ResolvedModel, wish: HoldWish) -> Estimate:
    if wish.cost_nano is not None:
        return estimate_cost(wish.cost_nano)
    return estimate_tokens(
        account,
        session_id=session.pk,
        model=model.name,
        price=model.price,
        input_tokens=wish.input_tokens,
        output_tokens=wish.output_tokens,
    )


def _busy(refusal: Refusal) -> CapBusy:
    return CapBusy(
        f"Open holds fill the cost cap of the {refusal.limit.scope}; ask again when one is settled.",
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
        **figures(refusal.limit),
        **approval_figures(None),
    )


def _pause_and_ask(session: AgentSession, spender: Spender, refusal: Refusal) -> ProblemError:
    """Sessions first, then the approval: the order in which a decision takes them."""
    own = lock_in_order(AgentSession.objects.filter(pk=session.pk))
    stopped = problem_of_state(own[0])
    if stopped is not None:
        return stopped
    account = enter(spender.project_id)
    limits = limits_at(spender.scopes, account.now, account.zone)
    still = holds.refusal_now(limits, refusal.amount_nano, wrap_up=False)
    if still is None or still.busy or still.limit.cap_id != refusal.limit.cap_id:
        # Somebody raised the cap while we waited for the sessions.
        return _busy(still or refusal)
    # Whoever waits for a second session while it holds one may die with another who does the same.
    others = lock_what_is_free(sessions_under(still.limit, session).exclude(pk=session.pk))
    approval = ask(session, still.limit, needed_nano=refusal.amount_nano)
    pause_sessions([*own, *others], still.limit, approval)
    if still.limit.scope != Scope.SESSION:
        transaction.on_commit(lambda: pause_others(approval.pk, still.limit))
    return cap_reached(still.limit, approval)


@transaction.atomic(savepoint=False)
def settle_hold(*, project_id: str, hold_id: str, actual: Actual) -> Hold:
    """What the call cost, counted as a turn of its session; pauses when a cap is passed by it."""
    session = _lock_whatever_state(project_id, hold_id)
    settlement = holds.settle(project_id=project_id, hold_id=hold_id, actual=actual)
    if settlement.entry is not None:
        count_turn(session, settlement.entry, budget_tokens=frame_of(session).total)
        observe(session, limits=settlement.limits)
        update_row(session)
    return settlement.hold


def _lock_whatever_state(project_id: str, hold_id: str) -> AgentSession:
    """What happened is recorded even for a session that has ended or was erased."""
    session_id = session_of_hold(project_id, hold_id) if "\x00" not in hold_id else None
    session = fetch_row(AgentSession, {"id": session_id}, lock=True, joined="profile") if session_id else None
    if session is None:
        raise NotFound()
    return session


def _session_scope(project_id: str, given: str) -> str:
    return str(find_session(project_id=project_id, ref=given).pk)


register_resolver("session", _session_scope)
