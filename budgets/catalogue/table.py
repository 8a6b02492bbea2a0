"""genai-prices' bundled table as we read it: its models in order of precedence, with their other names."""

from collections.abc import Iterator

from genai_prices.data import providers
from genai_prices.types import ClauseContains, ClauseEquals, ClauseOr, ClauseStartsWith, ModelInfo

from budgets.catalogue.names import MAKERS


def table_models() -> Iterator[tuple[str, ModelInfo]]:
    """Provider id and model, makers first."""
    ranks = {provider: rank for rank, provider in enumerate(MAKERS)}
    for provider in sorted(providers, key=lambda provider: ranks.get(provider.id, len(MAKERS))):
        for model in provider.models:
            yield provider.id, model


def matching_model(name: str, provider_id: str | None = None) -> tuple[str, ModelInfo] | None:
    """By the table's own patterns, in the provider given or the first that claims such names.

    The package's own lookup remembers every name it is asked for, and ours come from clients.
    """
    for provider in providers:
        claims = provider.model_match is not None and provider.model_match.is_match(name.lower())
        if provider.id == provider_id or (provider_id is None and claims):
            model = provider.find_model(name)
            return (provider.id, model) if model else None
    return None


def aliases_of(model: ModelInfo) -> tuple[str, ...]:
    """The other names that the table spells out for a model."""
    clauses = model.match.or_ if isinstance(model.match, ClauseOr) else [model.match]
    spelled: set[str] = set()
    for clause in clauses:
        match clause:
            case (
                ClauseEquals(equals=text) | ClauseStartsWith(starts_with=text) | ClauseContains(contains=text)
            ):
                spelled.add(text.lower())
    return tuple(sorted(spelled - {model.id.lower()}))
