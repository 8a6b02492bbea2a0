"""What a model's name means for a project: overrides, then the catalogue, then the fallback."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db import transaction

from budgets.catalogue import ModelFacts, catalogue_price, find_model
from budgets.core.cost import Price, PriceTier
from budgets.models import ModelOverride, ModelPrice
from budgets.services.audit import Author, record_change
from budgets.tokens import Counter, UnknownTokenizer, counter_for
from kernel.clock import read_now
from kernel.errors import FieldProblem, Invalid
from kernel.ids import new_id

OPERATOR = ""
FALLBACK_TOKENS = 32_000
GENERIC_TOKENIZER = "generic"
# An alias of an alias of an alias; more is a mistake, and a circle ends here too.
MAX_ALIAS_HOPS = 4
FACTS = ("context_window", "max_output", "latency_cap", "tokenizer")

Row = TypeVar("Row", ModelOverride, ModelPrice)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedModel:
    """source says where the context window comes from; price None means unpriced, never free."""

    name: str
    canonical_name: str
    context_window: int
    max_output: int | None
    latency_cap: int | None
    tokenizer: str
    source: str
    price: Price | None
    ratio_bp: int = 10_000
    margin_bp: int = 0

    @property
    def is_known(self) -> bool:
        return self.source != "fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """Everything known about one name: the override that holds beside what the catalogue says."""

    name: str
    canonical_name: str
    facts: ModelFacts | None
    overrides: tuple[ModelOverride, ...]
    price: Price | None

    def override(self, field: str) -> Any:
        return next((value for row in self.overrides if (value := getattr(row, field))), None)

    def fact(self, field: str) -> Any:
        return self.override(field) or (getattr(self.facts, field) if self.facts else None)

    @property
    def source(self) -> str:
        if self.override("context_window"):
            return "override"
        return "catalogue" if self.facts else "fallback"

    @property
    def etag(self) -> str:
        return f'"{self.overrides[0].pk if self.overrides else "catalogue"}"'


def resolve_model(*, project_id: str, name: str, fallback_tokens: int = FALLBACK_TOKENS) -> ResolvedModel:
    """Two queries, for an alias too; only an alias of an alias costs one more per hop."""
    card = model_card(project_id=project_id, name=name)
    return ResolvedModel(
        name=name,
        canonical_name=card.canonical_name,
        context_window=card.fact("context_window") or fallback_tokens,
        max_output=card.fact("max_output"),
        latency_cap=card.fact("latency_cap"),
        tokenizer=card.fact("tokenizer") or GENERIC_TOKENIZER,
        source=card.source,
        price=card.price,
    )


def counter(model: ResolvedModel) -> Counter:
    return counter_for(model.tokenizer, model.ratio_bp, model.margin_bp)


def model_card(*, project_id: str, name: str) -> ModelCard:
    names, overrides = _follow_aliases(project_id, name)
    facts = find_model(names[-1])
    canonical_name = facts.name if facts else names[-1]
    names = tuple(dict.fromkeys((*names, canonical_name)))
    return ModelCard(
        name=name,
        canonical_name=canonical_name,
        facts=facts,
        overrides=overrides,
        price=_stored_price(project_id, names) or catalogue_price(names[-1], datetime.now(UTC)),
    )


def _follow_aliases(project_id: str, name: str) -> tuple[tuple[str, ...], tuple[ModelOverride, ...]]:
    """The names on the way, and the overrides that hold for any of them, strongest first."""
    names = [name]
    rows = _rows_around(project_id, name)
    for _ in range(MAX_ALIAS_HOPS):
        alias = next((row.alias_of for row in _strongest_first(rows, names[-1:])), "")
        if not alias or alias in names:
            break
        names.append(alias)
        if len(names) > 2:
            rows += _rows_around(project_id, alias)
    facts = find_model(names[-1])
    return tuple(names), tuple(_strongest_first(rows, [*names, *([facts.name] if facts else [])]))


def _rows_around(project_id: str, name: str) -> list[ModelOverride]:
    """Overrides of the name, of the model that the catalogue takes it for, and of what it is an alias of."""
    facts = find_model(name)
    names = {name, facts.name} if facts else {name}
    return list(ModelOverride.objects.for_project(project_id).in_force().named_or_aliased(names))


def _strongest_first(rows: Iterable[Row], names: Iterable[str]) -> list[Row]:
    """The newest row of each project and name: the project's before the operator's, earlier names first."""
    order = {name: place for place, name in enumerate(dict.fromkeys(names))}
    newest: dict[tuple[bool, str], Row] = {}
    for row in sorted(rows, key=lambda row: (row.valid_from, row.pk)):
        if row.name in order:
            newest[row.project_id == OPERATOR, row.name] = row
    return [newest[key] for key in sorted(newest, key=lambda key: (key[0], order[key[1]]))]


def _stored_price(project_id: str, names: tuple[str, ...]) -> Price | None:
    rows = ModelPrice.objects.for_project(project_id).in_force().filter(name__in=names)
    strongest = _strongest_first(rows, names)
    return price_from(strongest[0]) if strongest else None


def price_from(row: ModelPrice) -> Price:
    return Price(
        price_id=row.pk,
        input_pico=row.input_pico,
        output_pico=row.output_pico,
        cache_read_pico=row.cache_read_pico,
        cache_write_5m_pico=row.cache_write_5m_pico,
        cache_write_1h_pico=row.cache_write_1h_pico,
        tiers=tuple(PriceTier(**tier) for tier in row.tiers),
    )


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
    names, _ = _follow_aliases(project_id, alias_of)
    if name in names:
        raise Invalid(
            f"{alias_of} is {name} already: an alias cannot lead back to itself.",
            code="alias_circle",
            errors=(FieldProblem(pointer="/alias_of", detail="leads back to the name itself"),),
        )
    facts = find_model(names[-1])
    return _append_override(
        ModelOverride(project_id=project_id, name=name, alias_of=facts.name if facts else names[-1]),
        author=author,
        action="model.aliased",
        valid_from=valid_from,
    )


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
