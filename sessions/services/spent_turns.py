"""Counts a ledger entry into its session: the turn, the running totals and, last, the rollups."""

from __future__ import annotations

from dataclasses import asdict

from budgets.core.usage import TokenUsage
from budgets.errors import SumOverflow
from budgets.models import LedgerEntry
from kernel.rows import fetch_row, insert_rows
from sessions.models import AgentSession, Turn
from sessions.services import rollups

MAX_SUM = 2**63 - 1


def count_turn(session: AgentSession, entry: LedgerEntry, *, budget_tokens: int) -> bool:
    """Whether it is a new turn; one with a known response id replaces its figures.

    Under the session's lock; the caller saves the session row.
    """
    turn = _known_turn(session, entry.response_id)
    is_new = turn is None
    if turn is None:
        session.turns += 1
        turn = Turn(
            session=session,
            number=session.turns,
            response_id=entry.response_id or None,
            created_at=entry.created_at,
            assembled_tokens=session.assembled_tokens,
        )
        session.assembled_tokens = None
    else:
        _add_totals(session, turn, sign=-1)
    turn.model, turn.usage, turn.cost_nano = entry.model, asdict(entry.usage), entry.cost_nano
    turn.used_tokens, turn.total_tokens = session.used_tokens, budget_tokens
    if is_new:
        insert_rows([turn])
    else:
        turn.save()
    _add_totals(session, turn, sign=1)
    return is_new


def _known_turn(session: AgentSession, response_id: str) -> Turn | None:
    if not response_id:
        return None
    return fetch_row(Turn, {"session_id": session.pk, "response_id": response_id}, lock=False)


def _add_totals(session: AgentSession, turn: Turn, *, sign: int) -> None:
    usage = TokenUsage(**turn.usage)
    session.input_tokens += sign * usage.input_tokens
    session.cache_read_tokens += sign * usage.cache_read_tokens
    session.cache_write_tokens += sign * (usage.cache_write_5m_tokens + usage.cache_write_1h_tokens)
    session.output_tokens += sign * usage.output_tokens
    session.spent_nano += sign * (turn.cost_nano or 0)
    session.has_unpriced = session.has_unpriced or turn.cost_nano is None
    if max(session.spent_nano, session.input_tokens, session.output_tokens) > MAX_SUM:
        raise SumOverflow("The session's totals would no longer fit; nothing was changed.")
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
