"""What a summary costs: money is held before a model is called and booked when its answer is staged."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from budgets.core.usage import TokenUsage
from budgets.errors import SumOverflow, UnpricedModel
from budgets.models import LedgerEntry
from budgets.services import holds
from budgets.services.admission_sql import enter
from budgets.services.holds import Admission
from budgets.services.ledger import record_usage
from budgets.services.models import ResolvedModel
from budgets.services.pricing import estimate_tokens
from kernel.clock import read_now
from sessions.models import AgentSession
from sessions.services import rollups, spending

# Two tries of many slow calls; what is left over when a worker dies goes free by itself.
HOLD_TTL = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why no money was set aside: the built-in summariser costs nothing and takes over."""

    reason: str


@transaction.atomic
def hold_for_summary(
    session: AgentSession, model: ResolvedModel, *, input_tokens: int, output_tokens: int
) -> str | Refused:
    """The hold's id. A full cap does not pause the session here: compaction has another way to go on."""
    account = enter(session.project_id)
    try:
        estimate = estimate_tokens(
            account,
            session_id=session.pk,
            model=model.name,
            price=model.price,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
        )
    except (UnpricedModel, SumOverflow) as error:
        return Refused(reason=error.code)
    answer = holds.reserve(
        account=account,
        spender=spending.spender_of(session, model=model.canonical_name),
        estimate=estimate,
        requested_model=model.name,
        ttl=HOLD_TTL,
    )
    return answer.hold.pk if isinstance(answer, Admission) else Refused(reason="cap_reached")


def book_summary(
    session: AgentSession, model: ResolvedModel, usage: TokenUsage, *, hold_id: str, call_id: str
) -> None:
    """Under the session's lock, in the transaction that stages the summary; the caller saves the row.

    `call_id` makes it count once, however often the same answer is booked.
    """
    now = read_now()
    if hold_id:
        holds.void(project_id=session.project_id, hold_id=hold_id)
    entry = record_usage(
        project_id=session.project_id,
        session_id=session.pk,
        key_id=session.key_id,
        model=model.canonical_name,
        usage=usage,
        price=model.price,
        occurred_at=now,
        response_id=call_id,
        kind=LedgerEntry.Kind.SUMMARISER,
    ).entry
    session.input_tokens += usage.input_tokens
    session.cache_read_tokens += usage.cache_read_tokens
    session.cache_write_tokens += usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    session.output_tokens += usage.output_tokens
    session.spent_nano += entry.cost_nano or 0
    session.has_unpriced = session.has_unpriced or entry.cost_nano is None
    # Not one of the agent's calls: it adds tokens and cost, and leaves the averages per call alone.
    rollups.add_call(
        session,
        model=model.canonical_name,
        at=now,
        usage=usage,
        cost_nano=entry.cost_nano,
        calls=0,
        used=0,
        total=0,
    )
    spending.observe(session, model=model.canonical_name)
