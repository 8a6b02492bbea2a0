"""Builds the catalogue file from genai-prices' bundled table and the overrides kept by hand."""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from genai_prices.types import ModelInfo
from tiktoken.model import encoding_name_for_model

from budgets.catalogue.facts import TABLE
from budgets.catalogue.table import aliases_of, table_models

OVERRIDES_FILE = Path(__file__).with_name("overrides.json")
# o200k_harmony is tiktoken's name for o200k_base with more special tokens.
OUR_VOCABULARIES = {"o200k_base": "o200k_base", "o200k_harmony": "o200k_base", "cl100k_base": "cl100k_base"}

Row = dict[str, Any]


def build_catalogue() -> dict[str, Any]:
    """Its sources, and one row per provider and model with a known window, rows kept by hand first."""
    overrides = json.loads(OVERRIDES_FILE.read_text(encoding="utf-8"))
    rows = {_key(row): row for row in _table_rows(overrides["limits"])}
    by_hand = [_merged(rows.pop(_key(row), {}), row) for row in overrides["models"]]
    return {"sources": {TABLE: version(TABLE)}, "models": [*by_hand, *rows.values()]}


def rendered(document: Mapping[str, Any]) -> str:
    """One row per line, so that a change shows as one line."""
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in document["models"])
    return f'{{"sources": {json.dumps(document["sources"])}, "models": [\n{rows}\n]}}\n'


def differences(old: Iterable[Row], new: Iterable[Row]) -> list[str]:
    """Added, removed and changed rows, one line each."""
    before, after = {_key(row): row for row in old}, {_key(row): row for row in new}
    lines = [f"+ {'/'.join(key)} {after[key]['context_window']:,}" for key in after if key not in before]
    lines += [f"- {'/'.join(key)}" for key in before if key not in after]
    lines += [
        f"~ {'/'.join(key)} {field}: {before[key].get(field)} → {after[key].get(field)}"
        for key in after
        if key in before
        for field in sorted(before[key].keys() | after[key].keys())
        if before[key].get(field) != after[key].get(field)
    ]
    return lines


def tokenizer_of(name: str) -> str:
    """The vocabulary that tiktoken's own table names, Claude's family, or generic."""
    bare = name.lower().rpartition("/")[2]
    if "claude" in bare:
        return "claude"
    try:
        return OUR_VOCABULARIES.get(encoding_name_for_model(bare), "generic")
    except KeyError:
        return "generic"


def _table_rows(limits: Mapping[str, Row]) -> Iterator[Row]:
    for provider, model in table_models():
        if model.context_window:
            limit = limits.get(f"{provider}/{model.id}", {})
            yield _table_row(provider, model) | {key: limit[key] for key in limit if key != "source"}


def _table_row(provider: str, model: ModelInfo) -> Row:
    row: Row = {
        "name": model.id,
        "provider": provider,
        "context_window": model.context_window,
        "tokenizer": tokenizer_of(model.id),
        "source": TABLE,
    }
    aliases = aliases_of(model)
    return row | {"aliases": list(aliases)} if aliases else row


def _merged(table_row: Row, by_hand: Row) -> Row:
    aliases = sorted({*table_row.get("aliases", ()), *by_hand.get("aliases", ())})
    row = {"tokenizer": tokenizer_of(by_hand["name"])} | table_row | by_hand
    return row | {"aliases": aliases} if aliases else row


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["provider"], row["name"].lower()
