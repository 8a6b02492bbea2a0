"""Approvals: a person decides what happens at a cap, or the deadline does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction

from budgets.core.basis_points import WHOLE_BP
from budgets.core.caps import Limit
from budgets.models import Cap
from budgets.services.audit import SYSTEM, Author
from budgets.services.caps import raise_cap
from kernel.clock import read_now
from kernel.errors import Conflict, Forbidden, Invalid, NotFound
from kernel.http.schemas import usd
from kernel.ids import new_id
from kernel.jobs.registry import sweep
from sessions.models import AgentSession, Approval
from sessions.services.pauses import (
    approval_figures,
    lock_in_order,
    pause_sessions,
    resume_sessions,
    sessions_under,
    wrap_up_sessions,
)
from sessions.services.waiting import wait_until
from teams.models import Membership, Project
from teams.services import record_audit

# What a deadline approves by default, as a share of the cap; never less than the refused call needs.
DEFAULT_RAISE_BP = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """A member who decides, in the browser or through a key that acts for them."""

    author: Author
    user_id: int | None


def find_approval(*, project_id: str, approval_id: str) -> Approval:
    rows = Approval.objects.of_project(project_id)
    approval = rows.filter(pk=approval_id).first() if "\x00" not in approval_id else None
    if approval is None:
        raise NotFound()
    return approval


def wait_for_decision(*, project_id: str, approval_id: str, seconds: int) -> Approval:
    return wait_until(
        lambda: find_approval(project_id=project_id, approval_id=approval_id),
        is_there=lambda approval: approval.state != Approval.State.PENDING,
        seconds=seconds,
    )


def ask(session: AgentSession, limit: Limit, *, needed_nano: int) -> Approval:
    """The open question about this cap, asked now if it is not open yet; locked until the transaction ends.

    The sessions that it will pause are locked before it, as `_decide` does.
    """
    project = Project.objects.get(pk=session.project_id)
    now = read_now()
    question = Approval(
        id=new_id("appr"),
        project_id=session.project_id,
        session_id=session.pk,
        cap_id=limit.cap_id,
        scope=limit.scope,
        scope_id=limit.scope_id,
        period=limit.period,
        limit_nano=limit.balance.limit_nano,
        spent_nano=limit.balance.settled_nano,
        reserved_nano=limit.balance.reserved_nano,
        needed_nano=needed_nano,
        resets_at=limit.resets_at,
        default=project.approval_default,
        deadline=now + timedelta(minutes=project.approval_minutes),
        created_at=now,
    )
    Approval.objects.bulk_create([question], ignore_conflicts=True)
    pending = Approval.objects.of_project(session.project_id).pending().filter(cap_id=limit.cap_id)
    return pending.select_for_update().get()


def pause_others(approval_id: str, limit: Limit) -> None:
    """Stops the other sessions under the cap, in a transaction of its own that holds nothing else."""
    with transaction.atomic():
        approval = Approval.objects.select_related("session").get(pk=approval_id)
        sessions = lock_in_order(
            sessions_under(limit, approval.session).filter(state=AgentSession.State.ACTIVE)
        )
        pending = Approval.objects.pending().filter(pk=approval_id).select_for_update().first()
        if pending is not None:
            pause_sessions(sessions, limit, pending)


@transaction.atomic
def approve(*, approval: Approval, amount_nano: int | None, approver: Approver) -> Approval:
    """Adds the amount to the running window and resumes every session that waits for this cap."""
    _require_approver(approval, approver)
    if amount_nano is None:
        amount_nano = _default_raise_nano(approval)
    if amount_nano <= 0:
        raise Invalid("Approve an amount above 0, or decline.", code="invalid_amount")
    return _approve(approval, amount_nano, approver.author)


@transaction.atomic
def decline(*, approval: Approval, approver: Approver) -> Approval:
    """The waiting sessions wrap up; their last turn is paid from the reserve."""
    _require_approver(approval, approver)
    return _decline(approval, approver.author)


@sweep
def decide_overdue_approvals() -> None:
    for approval in Approval.objects.pending().filter(deadline__lte=read_now()).order_by("deadline")[:100]:
        with transaction.atomic():
            _apply_default(approval)


def _apply_default(approval: Approval) -> None:
    author = Author(actor=SYSTEM)
    try:
        if approval.default == Project.ApprovalDefault.APPROVE:
            _approve(approval, _default_raise_nano(approval), author)
        else:
            _decline(approval, author)
    except Conflict:
        # A person was faster.
        return


def _default_raise_nano(approval: Approval) -> int:
    """What is taken beyond the limit, and room for the refused call: at least 10 % of the limit."""
    reserve = Cap.objects.values_list("wrap_up_reserve_nano", flat=True).get(pk=approval.cap_id)
    over = approval.spent_nano + approval.reserved_nano + reserve - approval.limit_nano
    cap_share = approval.limit_nano * DEFAULT_RAISE_BP // WHOLE_BP
    return max(over, 0) + max(approval.needed_nano, cap_share, 1)


def _approve(approval: Approval, amount_nano: int, author: Author) -> Approval:
    def act(sessions: Sequence[AgentSession], news: dict[str, Any]) -> None:
        raise_cap(cap=Cap.objects.get(pk=approval.cap_id), amount_nano=amount_nano, author=author)
        resume_sessions(sessions, {**news, "amount_usd": usd(amount_nano)})

    return _decide(approval, Approval.State.APPROVED, author, act, added_nano=amount_nano)


def _decline(approval: Approval, author: Author) -> Approval:
    return _decide(approval, Approval.State.DECLINED, author, wrap_up_sessions)


def _decide(
    approval: Approval,
    state: str,
    author: Author,
    act: Callable[[Sequence[AgentSession], dict[str, Any]], None],
    added_nano: int | None = None,
) -> Approval:
    """Once: the second decision is refused. Sessions are locked before the approval, as `ask` needs it."""
    waiting = AgentSession.objects.of_project(approval.project_id).filter(
        paused_by_cap=approval.cap_id, state=AgentSession.State.PAUSED
    )
    lock_in_order(waiting)
    decided = (
        Approval.objects.pending()
        .filter(pk=approval.pk)
        .update(state=state, added_nano=added_nano, decided_by=author.actor, decided_at=read_now())
    )
    if decided != 1:
        approval.refresh_from_db()
        raise Conflict(
            f"This was decided already: {approval.state} by {approval.decided_by}.",
            code="approval_decided",
            state=approval.state,
        )
    # Read again: a session that was paused while we waited for the approval's row waits for the answer too.
    act(lock_in_order(waiting), {**approval_figures(approval), "by": author.actor})
    approval.refresh_from_db()
    _audit(approval, author)
    return approval


def _require_approver(approval: Approval, approver: Approver) -> None:
    members = Membership.objects.filter(team__projects=approval.project_id)
    member = members.filter(user_id=approver.user_id).first() if approver.user_id is not None else None
    if member is None or not member.may("approve"):
        raise Forbidden("Only a member who may approve can decide this.", code="not_an_approver")


def _audit(approval: Approval, author: Author) -> None:
    record_audit(
        team_id=Project.objects.values_list("team_id", flat=True).get(pk=approval.project_id),
        project_id=approval.project_id,
        actor=author.actor,
        action=f"approval.{approval.state}",
        subject_id=approval.pk,
        after={"cap": approval.cap_id, "added_usd": usd(approval.added_nano)},
        request_id=author.request_id,
    )
