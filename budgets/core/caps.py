"""The arithmetic of caps: how much room is left, which cap refuses and why, which level was crossed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from budgets.core.basis_points import WHOLE_BP

DEFAULT_RESERVE_BP = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceState:
    """What one window of a cap holds at a moment, in nano-USD."""

    id: int
    cap_id: str
    limit_nano: int
    wrap_up_reserve_nano: int
    settled_nano: int
    reserved_nano: int
    warned: bool
    limit_told: bool

    def ceiling_nano(self, *, wrap_up: bool) -> int:
        """Only the turn that wraps a session up may use the reserve inside the limit."""
        return self.limit_nano if wrap_up else self.limit_nano - self.wrap_up_reserve_nano

    def room_nano(self, *, wrap_up: bool = False) -> int:
        return self.ceiling_nano(wrap_up=wrap_up) - self.settled_nano - self.reserved_nano


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A cap that applies, with its balance for the window in question."""

    cap_id: str
    scope: str
    scope_id: str
    period: str
    warn_bp: int
    resets_at: datetime | None
    balance: BalanceState

    @property
    def is_spent(self) -> bool:
        """Nothing but a wrap-up turn can be admitted any more, whatever becomes of the open holds."""
        return 0 < self.balance.settled_nano >= self.balance.ceiling_nano(wrap_up=False)

    @property
    def is_warning(self) -> bool:
        settled = self.balance.settled_nano
        return settled > 0 and settled * WHOLE_BP >= self.balance.limit_nano * self.warn_bp


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The cap that refuses an amount; `busy` when only open holds stand in the way."""

    limit: Limit
    amount_nano: int
    busy: bool


def refusal_of(limits: Iterable[Limit], amount_nano: int, *, wrap_up: bool) -> Refusal | None:
    """The strictest cap that refuses: one filled by settled spend before one filled by open holds."""
    refused = []
    for limit in limits:
        balance = limit.balance
        over = balance.settled_nano + amount_nano > balance.ceiling_nano(wrap_up=wrap_up)
        if over or balance.room_nano(wrap_up=wrap_up) < amount_nano:
            refused.append((not over, balance.room_nano(wrap_up=wrap_up), limit))
    if not refused:
        return None
    busy, _, strictest = min(refused, key=lambda entry: entry[:2])
    return Refusal(limit=strictest, amount_nano=amount_nano, busy=busy)


def default_reserve(limit_nano: int) -> int:
    return limit_nano * DEFAULT_RESERVE_BP // WHOLE_BP
