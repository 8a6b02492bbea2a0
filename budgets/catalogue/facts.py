"""What the shipped catalogue knows about a model: window, limits, tokenizer, and where the row comes from."""

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from budgets.catalogue.names import LONGEST_NAME, MAKERS, NameIndex

CATALOGUE_FILE = Path(__file__).with_name("models.json")
TABLE = "genai-prices"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFacts:
    """`max_input` is set where the vendor limits the prompt below the window."""

    name: str
    provider: str
    context_window: int
    tokenizer: str
    source: str
    max_input: int | None = None
    max_output: int | None = None
    latency_cap: int | None = None
    aliases: tuple[str, ...] = ()


def find_model(name: str) -> ModelFacts | None:
    """The model of that name, alias, dated release or vendor-prefixed name; None when we do not know it."""
    return _find(name) if len(name) <= LONGEST_NAME else None


@cache
def all_models() -> tuple[ModelFacts, ...]:
    """Every row; of rows that share a name the first one answers for it."""
    document = json.loads(CATALOGUE_FILE.read_text(encoding="utf-8"))
    return tuple(
        ModelFacts(**{**row, "aliases": tuple(row.get("aliases", ()))}) for row in document["models"]
    )


@lru_cache(maxsize=4_096)
def _find(name: str) -> ModelFacts | None:
    return _index().find(name)


@cache
def _index() -> NameIndex[ModelFacts]:
    index = NameIndex[ModelFacts]()
    for facts in all_models():
        # Rows kept by hand answer for their bare name even where a host offers the model.
        add = index.add_maker if facts.provider in MAKERS or facts.source != TABLE else index.add_host
        add(facts, facts.provider, facts.name, facts.aliases)
    return index
