"""What a model's name means: project before operator before catalogue before fallback."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from budgets.core.cost import Price, PriceTier
from budgets.models import ModelOverride, ModelPrice
from budgets.services.audit import Author
from budgets.services.model_changes import alias_model, override_model, set_price
from budgets.services.models import OPERATOR, counter, model_card, resolve_model
from kernel.errors import Invalid
from teams.models import AuditEvent, Project
from tests.conftest import Clock

AUTHOR = Author(actor="user:ada")


def window(project: Project, name: str) -> tuple[int, str]:
    model = resolve_model(project_id=project.pk, name=name)
    return model.context_window, model.source


def test_the_catalogue_answers_for_its_models(project: Project) -> None:
    assert window(project, "gpt-4") == (8192, "catalogue")


def test_a_dated_release_is_the_same_model(project: Project) -> None:
    model = resolve_model(project_id=project.pk, name="gpt-4-0613")
    assert (model.canonical_name, model.context_window) == ("gpt-4", 8192)


def test_an_unknown_model_falls_back_and_is_unpriced(project: Project) -> None:
    model = resolve_model(project_id=project.pk, name="nobody-knows-it", fallback_tokens=77)
    assert (model.context_window, model.source, model.price) == (77, "fallback", None)
    assert counter(model).source == "estimated"


def test_the_project_wins_over_the_operator_and_both_over_the_catalogue(
    project: Project, other_project: Project
) -> None:
    override_model(project_id=OPERATOR, name="gpt-4", author=AUTHOR, context_window=9000, max_output=50)
    override_model(project_id=project.pk, name="gpt-4", author=AUTHOR, context_window=9500)
    assert window(project, "gpt-4") == (9500, "override")
    assert window(other_project, "gpt-4") == (9000, "override")
    # What the project leaves open is still the operator's.
    assert resolve_model(project_id=project.pk, name="gpt-4").max_output == 50


def test_an_override_of_the_model_holds_for_its_dated_releases(project: Project) -> None:
    override_model(project_id=project.pk, name="gpt-4", author=AUTHOR, context_window=9500)
    assert window(project, "gpt-4-0613") == (9500, "override")
    override_model(project_id=project.pk, name="gpt-4-0613", author=AUTHOR, context_window=9600)
    assert window(project, "gpt-4-0613") == (9600, "override")
    assert window(project, "gpt-4") == (9500, "override")


def test_a_later_override_replaces_and_the_earlier_row_stays(project: Project) -> None:
    override_model(project_id=project.pk, name="gpt-4", author=AUTHOR, context_window=9500)
    override_model(project_id=project.pk, name="gpt-4", author=AUTHOR)
    assert window(project, "gpt-4") == (8192, "catalogue")
    assert ModelOverride.objects.count() == 2


def test_an_override_holds_from_its_moment_on(project: Project, clock: Clock) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    override_model(
        project_id=project.pk, name="gpt-4", author=AUTHOR, context_window=9500, valid_from=tomorrow
    )
    assert window(project, "gpt-4") == (8192, "catalogue")
    clock.advance(days=1, seconds=1)
    assert window(project, "gpt-4") == (9500, "override")


def test_an_alias_is_followed_to_the_model_and_its_override(project: Project) -> None:
    alias_model(project_id=project.pk, name="house", alias_of="gpt-4-0613", author=AUTHOR)
    override_model(project_id=project.pk, name="gpt-4", author=AUTHOR, context_window=9500)
    model = resolve_model(project_id=project.pk, name="house")
    assert (model.name, model.canonical_name) == ("house", "gpt-4")
    assert (model.context_window, model.tokenizer) == (9500, "cl100k_base")


def test_an_alias_that_got_an_alias_later_is_followed_too(project: Project) -> None:
    alias_model(project_id=project.pk, name="house", alias_of="inner", author=AUTHOR)
    alias_model(project_id=project.pk, name="inner", alias_of="gpt-4", author=AUTHOR)
    assert window(project, "house") == (8192, "catalogue")


def test_aliases_in_a_circle_are_refused(project: Project) -> None:
    alias_model(project_id=project.pk, name="a", alias_of="b", author=AUTHOR)
    with pytest.raises(Invalid) as refusal:
        alias_model(project_id=project.pk, name="b", alias_of="a", author=AUTHOR)
    assert refusal.value.code == "alias_circle"


def test_a_circle_made_across_project_and_operator_still_ends(project: Project) -> None:
    alias_model(project_id=project.pk, name="a", alias_of="b", author=AUTHOR)
    alias_model(project_id=OPERATOR, name="b", alias_of="a", author=AUTHOR)
    assert window(project, "a") == (32_000, "fallback")


def test_another_projects_words_do_not_count(project: Project, other_project: Project) -> None:
    override_model(project_id=other_project.pk, name="gpt-4", author=AUTHOR, context_window=1)
    alias_model(project_id=other_project.pk, name="house", alias_of="gpt-4", author=AUTHOR)
    price = Price(price_id="", input_pico=1, output_pico=1)
    set_price(project_id=other_project.pk, name="gpt-4", price=price, author=AUTHOR)
    assert window(project, "gpt-4") == (8192, "catalogue")
    assert window(project, "house") == (32_000, "fallback")
    found = resolve_model(project_id=project.pk, name="gpt-4").price
    assert found is not None
    assert found.input_pico == 30_000_000


def test_a_price_of_the_project_wins_and_keeps_its_tiers(project: Project) -> None:
    tiers = (PriceTier(above_tokens=200_000, input_pico=6_000_000),)
    set_price(
        project_id=project.pk,
        name="gpt-4",
        price=Price(price_id="", input_pico=3_000_000, output_pico=15_000_000, tiers=tiers),
        author=AUTHOR,
    )
    price = resolve_model(project_id=project.pk, name="gpt-4").price
    assert price is not None
    assert (price.input_pico, price.tiers) == (3_000_000, tiers)
    assert price.price_id == ModelPrice.objects.get().pk


def test_prices_are_dated(project: Project, clock: Clock) -> None:
    now = datetime.now(UTC)
    for pico, days in ((1, -10), (2, -5), (3, 5)):
        set_price(
            project_id=project.pk,
            name="own",
            price=Price(price_id="", input_pico=pico, output_pico=0),
            author=AUTHOR,
            valid_from=now + timedelta(days=days),
        )
    before = resolve_model(project_id=project.pk, name="own").price
    clock.advance(days=6)
    after = resolve_model(project_id=project.pk, name="own").price
    assert before is not None
    assert after is not None
    assert (before.input_pico, after.input_pico) == (2, 3)


def test_an_unknown_tokenizer_is_refused(project: Project) -> None:
    with pytest.raises(Invalid) as refusal:
        override_model(project_id=project.pk, name="own", author=AUTHOR, tokenizer="abacus")
    assert refusal.value.errors[0].pointer == "/tokenizer"
    assert not ModelOverride.objects.exists()


def test_every_change_of_a_project_leaves_an_audit_row(project: Project) -> None:
    override_model(project_id=project.pk, name="own", author=AUTHOR, context_window=10)
    override_model(project_id=project.pk, name="own", author=AUTHOR, context_window=20)
    row = AuditEvent.objects.filter(action="model.overridden").latest("id")
    assert (row.actor, row.subject_id, row.project_id) == ("user:ada", "own", project.pk)
    assert (row.before["context_window"], row.after["context_window"]) == (10, 20)


@pytest.mark.parametrize("name", ["gpt-4", "gpt-4-0613", "unknown", "house"])
def test_a_name_or_an_alias_costs_two_queries(
    project: Project, name: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    alias_model(project_id=project.pk, name="house", alias_of="gpt-4", author=AUTHOR)
    with django_assert_num_queries(2):
        resolve_model(project_id=project.pk, name=name)


def test_the_card_shows_the_override_beside_the_original(project: Project) -> None:
    override_model(project_id=project.pk, name="gpt-4", author=AUTHOR, context_window=9500)
    card = model_card(project_id=project.pk, name="gpt-4")
    assert card.facts is not None
    assert (card.override("context_window"), card.facts.context_window) == (9500, 8192)
