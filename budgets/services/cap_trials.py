"""Tries a cap through the real path of admission and keeps nothing of it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from budgets.core.caps import Refusal
from budgets.models import Cap, Scope
from budgets.services.admission_sql import enter
from budgets.services.caps import window_view
from budgets.services.holds import reserve
from budgets.services.pricing import estimate_cost
from budgets.services.scopes import Spender, shown_scope_id

# Belongs to nobody: only the cap's own scope is a real one.
NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """`refused_by` names the cap that refused one nano-dollar more than is left; None when none did."""

    amount_nano: int
    refused_by: str | None
    is_this_cap: bool


@transaction.atomic
def try_cap(cap: Cap) -> Trial:
    """A synthetic hold for more than is left must be refused; it is never kept."""
    amount = max(0, window_view(cap).remaining_nano) + 1
    account = enter(cap.project_id)
    answer = reserve(
        account=account,
        spender=_spender(cap, account.team_id),
        estimate=estimate_cost(amount),
        dry_run=True,
    )
    refused = answer.limit.cap_id if isinstance(answer, Refusal) else None
    return Trial(amount_nano=amount, refused_by=refused, is_this_cap=refused == cap.pk)


def _spender(cap: Cap, team_id: str) -> Spender:
    def scoped(scope: str) -> str:
        return shown_scope_id(cap.scope, cap.scope_id) if cap.scope == scope else NOBODY

    return Spender(
        team_id=team_id,
        project_id=cap.project_id,
        session_id=scoped(Scope.SESSION),
        key_id=scoped(Scope.KEY),
        model=scoped(Scope.MODEL),
    )
