"""What a model's name means for a project: overrides, then the catalogue, then the fallback."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from budgets.catalogue import ModelFacts, catalogue_price, find_model
from budgets.core.cost import Price, PriceTier
from budgets.models import ModelOverride, ModelPrice
from budgets.services.calibrations import UNCORRECTED
from budgets.tokens import Counter, counter_for
from kernel.clock import process_seconds

OPERATOR = ""
FALLBACK_TOKENS = 32_000
GENERIC_TOKENIZER = "generic"
# An alias of an alias of an alias; more is a mistake, and a circle ends here too.
MAX_ALIAS_HOPS = 4

# Every turn of every session asks for its model: another process's change may take this long to be seen.
CARD_SECONDS = 1.0
MAX_CARDS = 5_000

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
    prompt_limit: int | None = None

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
    def prompt_limit(self) -> int | None:
        """Whoever overrides the window says what is allowed; the catalogue's limit no longer holds."""
        return self.facts.max_input if self.facts and not self.override("context_window") else None

    @property
    def etag(self) -> str:
        return f'"{self.overrides[0].pk if self.overrides else "catalogue"}"'


_cards: dict[tuple[str, str], tuple[float, ModelCard]] = {}


def resolve_model(*, project_id: str, name: str, fallback_tokens: int = FALLBACK_TOKENS) -> ResolvedModel:
    """May be as old as CARD_SECONDS; changes made by this process are seen at once."""
    now = process_seconds()
    key = (project_id, name)
    expires, card = _cards.get(key, (0.0, None))
    if card is None or expires < now:
        card = model_card(project_id=project_id, name=name)
        if len(_cards) >= MAX_CARDS:
            _cards.clear()
        _cards[key] = (now + CARD_SECONDS, card)
    return resolved(card, fallback_tokens)


def remember_cards(*, project_id: str, names: Iterable[str]) -> None:
    """Fetched together, so that a page of many sessions asks twice and not twice per model."""
    expires = process_seconds() + CARD_SECONDS
    for card in model_cards(project_id=project_id, names=sorted(set(names))):
        _cards[project_id, card.name] = (expires, card)


def forget_cards() -> None:
    """After a change of overrides, aliases or prices."""
    _cards.clear()


def resolved(card: ModelCard, fallback_tokens: int = FALLBACK_TOKENS) -> ResolvedModel:
    return ResolvedModel(
        name=card.name,
        canonical_name=card.canonical_name,
        context_window=card.fact("context_window") or fallback_tokens,
        max_output=card.fact("max_output"),
        latency_cap=card.fact("latency_cap"),
        tokenizer=card.fact("tokenizer") or GENERIC_TOKENIZER,
        source=card.source,
        price=card.price,
        prompt_limit=card.prompt_limit,
    )


def counter(model: ResolvedModel, correction: tuple[int, int] = UNCORRECTED) -> Counter:
    return counter_for(model.tokenizer, *correction)


def model_card(*, project_id: str, name: str) -> ModelCard:
    return model_cards(project_id=project_id, names=[name])[0]


def model_cards(*, project_id: str, names: Sequence[str]) -> list[ModelCard]:
    """Two queries for any number of names; only an alias of an alias costs one more per hop."""
    overrides = Overrides(project_id, names)
    lineages = {name: overrides.lineage(name) for name in names}
    wanted = {ancestor for lineage in lineages.values() for ancestor in lineage}
    prices = list(ModelPrice.objects.for_project(project_id).in_force().filter(name__in=wanted))
    return [_card(lineages[name], overrides.rows, prices) for name in names]


class Overrides:
    """The overrides around some names, fetched together and followed from alias to alias."""

    def __init__(self, project_id: str, names: Iterable[str]) -> None:
        self.rows: list[ModelOverride] = []
        self._project_id = project_id
        self._fetched: set[str] = set()
        self._fetch(names)

    def lineage(self, name: str) -> tuple[str, ...]:
        """The name, what it is an alias of, and last the name that the catalogue knows it by."""
        names = [name]
        while (alias := self._alias(names[-1])) and alias not in names and len(names) <= MAX_ALIAS_HOPS:
            names.append(alias)
        return tuple(dict.fromkeys((*names, _canonical(names[-1]))))

    def _alias(self, name: str) -> str:
        if name not in self._fetched:
            self._fetch([name])
        return next((row.alias_of for row in strongest_first(self.rows, [name])), "")

    def _fetch(self, names: Iterable[str]) -> None:
        around = {*names, *map(_canonical, names)}
        rows = list(ModelOverride.objects.for_project(self._project_id).in_force().named_or_aliased(around))
        self.rows += rows
        self._fetched |= around | {row.alias_of for row in rows if row.name in around}


def _canonical(name: str) -> str:
    facts = find_model(name)
    return facts.name if facts else name


def _card(lineage: tuple[str, ...], overrides: list[ModelOverride], prices: list[ModelPrice]) -> ModelCard:
    stored = strongest_first(prices, lineage)
    return ModelCard(
        name=lineage[0],
        canonical_name=lineage[-1],
        facts=find_model(lineage[-1]),
        overrides=tuple(strongest_first(overrides, lineage)),
        # The catalogue's prices change by the day: the process's own clock is good enough.
        price=price_from(stored[0]) if stored else catalogue_price(lineage[-1], datetime.now(UTC)),
    )


def strongest_first(rows: Iterable[Row], names: Iterable[str]) -> list[Row]:
    """The newest row of each project and name: the project's before the operator's, earlier names first."""
    order = {name: place for place, name in enumerate(dict.fromkeys(names))}
    newest: dict[tuple[bool, str], Row] = {}
    for row in sorted(rows, key=lambda row: (row.valid_from, row.pk)):
        if row.name in order:
            newest[row.project_id == OPERATOR, row.name] = row
    return [newest[key] for key in sorted(newest, key=lambda key: (key[0], order[key[1]]))]


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
