"""Which price a call is reckoned at, and what is expected of it before it is made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from budgets.catalogue import all_models, catalogue_price
from budgets.core.basis_points import rounded_quotient
from budgets.core.cost import Price, cost_nano_usd
from budgets.core.usage import TokenUsage
from budgets.errors import SumOverflow, UnpricedModel
from budgets.models import LedgerEntry
from budgets.services.admission_sql import MAX_NANO, Account
from teams.models import Project

# A session's own recent answers say best how long the next one will be.
AVERAGED_CALLS = 8
# Before the first answer: a plain reply, far below any model's maximum.
FIRST_OUTPUT_TOKENS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a hold sets aside, and on what basis; unpriced is said, never taken for free."""

    amount_nano: int
    unpriced: bool
    basis: str
    input_tokens: int | None = None
    output_tokens: int | None = None


def price_under_policy(account: Account, price: Price | None) -> Price | None:
    if price is None and account.unpriced_policy == Project.Unpriced.ASSUME_HIGHEST:
        return highest_price()
    return price


@cache
def highest_price() -> Price:
    """Rate by rate the most that any model of the catalogue costs."""
    now = datetime.now(UTC)
    prices = [price for facts in all_models() if (price := catalogue_price(facts.name, now))]
    return Price(
        price_id="highest known",
        input_pico=max(price.input_pico or 0 for price in prices),
        output_pico=max(price.output_pico or 0 for price in prices),
    )


def estimate_cost(cost_nano: int) -> Estimate:
    return Estimate(amount_nano=cost_nano, unpriced=False, basis="cost")


def estimate_tokens(
    account: Account,
    *,
    session_id: str,
    model: str,
    price: Price | None,
    input_tokens: int,
    output_tokens: int | None,
) -> Estimate:
    """Without a given output the session's moving average stands in, never the model's maximum."""
    basis = "output" if output_tokens is not None else "average"
    output = output_tokens if output_tokens is not None else expected_output(session_id)
    price = price_under_policy(account, price)
    if price is None and account.unpriced_policy == Project.Unpriced.BLOCK:
        raise UnpricedModel(
            f"No price is known for {model!r}, and this project blocks unpriced models.", model=model
        )
    amount = cost_nano_usd(TokenUsage(input_tokens=input_tokens, output_tokens=output), price)
    if amount is not None and amount > MAX_NANO:
        raise SumOverflow("That estimate is too large to be added up.")
    return Estimate(
        amount_nano=amount or 0,
        unpriced=amount is None,
        basis=basis,
        input_tokens=input_tokens,
        output_tokens=output,
    )


def expected_output(session_id: str) -> int:
    calls = LedgerEntry.objects.filter(session_id=session_id, output_tokens__gt=0).order_by("-id")
    lengths = list(calls.values_list("output_tokens", flat=True)[:AVERAGED_CALLS])
    return rounded_quotient(sum(lengths), len(lengths)) if lengths else FIRST_OUTPUT_TOKENS
