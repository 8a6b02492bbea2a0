"""Models: those in use and any other name, prices with their source, overrides, counting by paste."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import urlencode

from budgets.catalogue import all_models
from budgets.core.cost import Price
from budgets.models import ModelOverride, ModelPrice
from budgets.services.in_use import users
from budgets.services.model_changes import override_model, set_price
from budgets.services.models import ModelCard, counter, model_card, model_cards, resolved
from budgets.views.money import pico_from
from budgets.views.policy_form import number
from budgets.views.profiles import author_of
from kernel.errors import Invalid
from teams.pages import PageRequest, page

MAX_FOUND = 60
MAX_COUNTED_CHARACTERS = 200_000


@page
def models(request: PageRequest) -> HttpResponse:
    """One name's card with `?name=`, else those in use and what a search finds."""
    name = request.GET.get("name", "").strip()[:200]
    if request.method == "POST":
        return _change(request)
    if name and "\x00" not in name:
        return _card_page(request, name)
    project_id, part = request.visitor.project.pk, request.GET.get("q", "").strip().lower()
    in_use = users().models(project_id)
    found = [facts.name for facts in all_models() if part in facts.name.lower()][:MAX_FOUND] if part else []
    context = {
        "in_use": [shown(card) for card in model_cards(project_id=project_id, names=in_use)],
        "found": [shown(card) for card in model_cards(project_id=project_id, names=found)],
        "part": part,
    }
    return render(request, "budgets/models.html", context)


def shown(card: ModelCard) -> dict[str, Any]:
    model = resolved(card)
    state = "priced" if card.price else "unpriced"
    return {
        "card": card,
        "model": model,
        "state": "overridden" if card.overrides else state,
        "exactness": counter(model).source,
        "price": card.price,
    }


def _card_page(request: PageRequest, name: str, counted: dict[str, Any] | None = None) -> HttpResponse:
    project_id = request.visitor.project.pk
    card = model_card(project_id=project_id, name=name)
    names = {card.name, card.canonical_name}
    context = {
        **shown(card),
        "name": name,
        "counted": counted,
        "prices": ModelPrice.objects.for_project(project_id).filter(name__in=names).order_by("-valid_from"),
        "overrides": ModelOverride.objects.for_project(project_id)
        .filter(name__in=names)
        .order_by("-valid_from"),
    }
    return render(request, "budgets/model.html", context)


def _change(request: PageRequest) -> HttpResponse:
    name = request.POST.get("name", "").strip()[:200]
    if not name or "\x00" in name:
        raise Invalid("Name the model.", code="invalid_name")
    action = request.POST.get("action", "")
    if action == "count":
        return _card_page(request, name, counted=_count(request, name))
    request.visitor.require("manage")
    if action == "price":
        _set_price(request, name)
        messages.success(request, "The price holds from now on; what was spent before stays as it was.")
    else:
        _override(request, name)
        messages.success(request, "The override holds from now on; the catalogue's values stay visible.")
    return HttpResponseRedirect(f"/models?{urlencode({'name': name})}")


def _count(request: PageRequest, name: str) -> dict[str, Any]:
    text = request.POST.get("text", "")[:MAX_COUNTED_CHARACTERS]
    tokenizer = counter(resolved(model_card(project_id=request.visitor.project.pk, name=name)))
    tokens = tokenizer.count(text)
    return {"text": text, "tokens": tokens, "high": tokenizer.high(tokens), "source": tokenizer.source}


def _set_price(request: PageRequest, name: str) -> None:
    rates = {
        field: pico_from(request.POST[field], field=field) if request.POST.get(field, "").strip() else None
        for field in ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
    }
    if rates["input"] is None or rates["output"] is None:
        raise Invalid("Give at least the prices of input and output.", code="invalid_price")
    price = Price(
        price_id="",
        input_pico=rates["input"],
        output_pico=rates["output"],
        cache_read_pico=rates["cache_read"],
        cache_write_5m_pico=rates["cache_write_5m"],
        cache_write_1h_pico=rates["cache_write_1h"],
    )
    set_price(project_id=request.visitor.project.pk, name=name, price=price, author=author_of(request))


def _override(request: PageRequest, name: str) -> None:
    override_model(
        project_id=request.visitor.project.pk,
        name=name,
        author=author_of(request),
        tokenizer=request.POST.get("tokenizer", "").strip(),
        context_window=_tokens(request, "context_window"),
        max_output=_tokens(request, "max_output"),
        latency_cap=_tokens(request, "latency_cap"),
    )


def _tokens(request: PageRequest, field: str) -> int | None:
    text = request.POST.get(field, "")
    if not text.strip():
        return None
    value = number(text)
    if not isinstance(value, int) or not 1 <= value <= 10**12:
        raise Invalid(f"{field.replace('_', ' ')} must be a whole number of tokens.", code="invalid_tokens")
    return value
