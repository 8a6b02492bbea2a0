"""Building: the shipped file is what its sources give, and a difference is told row by row."""

import json

from budgets.catalogue.building import build_catalogue, differences, rendered, tokenizer_of
from budgets.catalogue.facts import CATALOGUE_FILE


def test_the_shipped_catalogue_is_current() -> None:
    assert rendered(build_catalogue()) == CATALOGUE_FILE.read_text(encoding="utf-8")


def test_rows_kept_by_hand_win_over_the_table() -> None:
    rows = {(row["provider"], row["name"]): row for row in build_catalogue()["models"]}
    assert rows["openai", "gpt-3.5-turbo"]["context_window"] == 4_096
    assert rows["google", "gemini-2.0-flash"]["latency_cap"] == 300_000
    assert "gpt-35-turbo" in rows["openai", "gpt-3.5-turbo"]["aliases"]


def test_no_provider_has_the_same_model_twice() -> None:
    keys = [
        (row["provider"], row["name"].lower()) for row in json.loads(CATALOGUE_FILE.read_text())["models"]
    ]
    assert len(keys) == len(set(keys))


def test_a_difference_names_what_was_added_removed_and_changed() -> None:
    alpha = {"provider": "acme", "name": "alpha", "context_window": 8_000}
    beta = {"provider": "acme", "name": "beta", "context_window": 9_000}
    assert differences([alpha, beta], [alpha | {"context_window": 16_000}, beta | {"name": "gamma"}]) == [
        "+ acme/gamma 9,000",
        "- acme/beta",
        "~ acme/alpha context_window: 8000 → 16000",
    ]


def test_a_tokenizer_follows_from_the_name() -> None:
    names = (
        "gpt-4.1",
        "openai/gpt-4o-mini",
        "gpt-oss-20b",
        "gpt-4-turbo",
        "us.anthropic.claude-3",
        "gemini-3",
        "davinci",
    )
    assert [tokenizer_of(name) for name in names] == [
        "o200k_base", "o200k_base", "o200k_base", "cl100k_base", "claude", "generic", "generic",
    ]  # fmt: skip
