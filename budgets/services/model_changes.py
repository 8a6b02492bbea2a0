"""What people say about models: every change is a dated row more, never a row changed."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import transaction

from budgets.core.cost import Price
from budgets.models import ModelOverride, ModelPrice
from budgets.services.audit import Author, record_change
from budgets.services.models import OPERATOR, Overrides, forget_cards
from budgets.tokens import UnknownTokenizer, counter_for
from kernel.clock import read_now
from kernel.errors import FieldProblem, Invalid
from kernel.ids import new_id

FACTS = ("context_window", "max_output", "latency_cap", "tokenizer")


@transaction.atomic
def override_model(
    *,
    project_id: str,
    name: str,
    author: Author,
    context_window: int | None = None,
    max_output: int | None = None,
    latency_cap: int | None = None,
    tokenizer: str = "",
    valid_from: datetime | None = None,
) -> ModelOverride:
    """The whole override from a moment on; a field that is left out is the catalogue's again."""
    if tokenizer:
        _refuse_unknown_tokenizer(tokenizer)
    return _append_override(
        ModelOverride(
            project_id=project_id,
            name=name,
            context_window=context_window,
            max_output=max_output,
            latency_cap=latency_cap,
            tokenizer=tokenizer,
        ),
        author=author,
        action="model.overridden",
        valid_from=valid_from,
    )


@transaction.atomic
def alias_model(
    *, project_id: str, name: str, alias_of: str, author: Author, valid_from: datetime | None = None
) -> ModelOverride:
    model = refuse_circle(project_id=project_id, name=name, alias_of=alias_of)
    return _append_override(
        ModelOverride(project_id=project_id, name=name, alias_of=model),
        author=author,
        action="model.aliased",
        valid_from=valid_from,
    )


def refuse_circle(*, project_id: str, name: str, alias_of: str) -> str:
    """The model at the end of the aliases, which must not be the name itself."""
    names = Overrides(project_id, [alias_of]).lineage(alias_of)
    if name in names:
        raise Invalid(
            f"{alias_of} is {name} already: an alias cannot lead back to itself.",
            code="alias_circle",
            errors=(FieldProblem(pointer="/alias_of", detail="leads back to the name itself"),),
        )
    return names[-1]


@transaction.atomic
def set_price(
    *, project_id: str, name: str, price: Price, author: Author, valid_from: datetime | None = None
) -> ModelPrice:
    """Appended, never changed: what was spent before stays priced as it was."""
    rates = {key: value for key, value in asdict(price).items() if key not in ("price_id", "batch_bp")}
    row = ModelPrice(
        id=new_id("price"),
        project_id=project_id,
        name=name,
        actor=author.actor,
        **_dated(valid_from),
        **rates,
    )
    row.save(force_insert=True)
    _record(row, author, "model.priced", after={"name": name, **rates})
    return row


def _append_override(
    row: ModelOverride, *, author: Author, action: str, valid_from: datetime | None
) -> ModelOverride:
    row.id, row.actor = new_id("over"), author.actor
    row.valid_from, row.created_at = _dated(valid_from).values()
    before = ModelOverride.objects.for_project(row.project_id).filter(
        project_id=row.project_id, name=row.name
    )
    previous = before.in_force().order_by("-valid_from", "-id").first()
    row.save(force_insert=True)
    _record(row, author, action, before=_override_values(previous), after=_override_values(row))
    return row


def _override_values(row: ModelOverride | None) -> dict[str, Any] | None:
    if row is None:
        return None
    values = {field: getattr(row, field) for field in ("name", "alias_of", *FACTS)}
    return {field: value for field, value in values.items() if value}


def _record(
    row: ModelOverride | ModelPrice, author: Author, action: str, *, after: Any, before: Any = None
) -> None:
    """The operator's rows belong to no team: the row itself names its author and moment."""
    forget_cards()
    transaction.on_commit(forget_cards)
    if row.project_id == OPERATOR:
        return
    record_change(
        project_id=row.project_id,
        author=author,
        action=action,
        subject_id=row.name,
        before=before,
        after=after,
    )


def _dated(valid_from: datetime | None) -> dict[str, datetime]:
    # SQLite's clock has milliseconds: a moment between two of them would not hold at once.
    now = read_now()
    now = now.replace(microsecond=now.microsecond // 1000 * 1000)
    return {"valid_from": valid_from or now, "created_at": now}


def _refuse_unknown_tokenizer(tokenizer: str) -> None:
    try:
        counter_for(tokenizer)
    except UnknownTokenizer as error:
        field = FieldProblem(pointer="/tokenizer", detail=str(error))
        raise Invalid(str(error), code=error.code, errors=(field,)) from None
