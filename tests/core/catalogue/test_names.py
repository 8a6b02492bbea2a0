"""Names: what a model is also called, and what is another model."""

import pytest

from budgets.catalogue import all_models, find_model
from budgets.catalogue.names import NameIndex

# written, provider, name
ALSO_CALLED = [
    ("gpt-4o", "openai", "gpt-4o"),
    ("GPT-4o", "openai", "gpt-4o"),
    (" gpt-4o ", "openai", "gpt-4o"),
    ("gpt-4o-2024-08-06", "openai", "gpt-4o"),
    ("gpt-4o-2031-01-31", "openai", "gpt-4o"),  # a release after this catalogue
    ("openai/gpt-4o", "openai", "gpt-4o"),
    ("openai:gpt-4o", "openai", "gpt-4o"),
    ("ft:gpt-4o-2024-08-06:acme::abc123", "openai", "gpt-4o"),
    ("gpt-4-0613", "openai", "gpt-4"),
    ("gpt-4-1106-preview", "openai", "gpt-4-turbo"),  # not gpt-4: its window is 16 times larger
    ("claude-sonnet-4-5-20250929", "anthropic", "claude-sonnet-4-5"),
    ("anthropic/claude-sonnet-4-5-20250929", "anthropic", "claude-sonnet-4-5"),
    ("claude-sonnet-4@20250514", "anthropic", "claude-sonnet-4-0"),  # Vertex
    ("anthropic/claude-3.5-sonnet", "anthropic", "claude-3-5-sonnet"),  # OpenRouter
    (
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "aws",
        "regional.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
    ("models/gemini-2.0-flash-001", "google", "gemini-2.0-flash"),
    ("openrouter/openai/gpt-4o", "openrouter", "openai/gpt-4o"),  # a host named outright
    ("azure/gpt-4o", "openai", "gpt-4o"),  # a host we have no row for
    ("mistral-large-latest", "openrouter", "mistralai/mistral-large"),
]


@pytest.mark.parametrize(("written", "provider", "name"), ALSO_CALLED)
def test_it_finds_a_model_under_its_other_names(written: str, provider: str, name: str) -> None:
    facts = find_model(written)
    assert facts is not None
    assert (facts.provider, facts.name) == (provider, name)


@pytest.mark.parametrize(
    "written", ["", " ", "nonsense", "gpt-4o-foo", "gpt", "claude", "/", ":", "2024-08-06", "a" * 9_999]
)
def test_a_model_it_does_not_know_is_none(written: str) -> None:
    assert find_model(written) is None


def test_every_row_is_found_under_its_provider_and_name() -> None:
    hidden = [
        f"{facts.provider}/{facts.name}"
        for facts in all_models()
        if find_model(f"{facts.provider}/{facts.name}") != facts
    ]
    assert hidden == []


def test_a_maker_answers_for_a_name_before_a_host_does() -> None:
    index = NameIndex[str]()
    index.add_host("host", "cheaphost", "alpha-1", ())
    index.add_maker("maker", "acme", "alpha-1", ("alpha-one",))
    assert index.find("alpha-1") == "maker"
    assert index.find("alpha-one-20260101") == "maker"
    assert index.find("cheaphost/alpha-1") == "host"


def test_an_alias_never_hides_another_models_own_name() -> None:
    index = NameIndex[str]()
    index.add_maker("old", "acme", "alpha-1", ("alpha-2",))
    index.add_maker("new", "acme", "alpha-2", ())
    assert index.find("alpha-2") == "new"
