"""The operator's view of models, prices, profiles and money; writes go through services."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest

from budgets.core.cost import Price
from budgets.models import (
    Balance,
    Cap,
    Hold,
    LedgerEntry,
    ModelOverride,
    ModelPrice,
    Profile,
    ProfileRevision,
)
from budgets.services.audit import Author
from budgets.services.model_changes import alias_model, override_model, refuse_circle, set_price
from budgets.services.models import OPERATOR
from budgets.services.profiles import roll_back
from budgets.tokens.families import FAMILIES
from kernel.admin import OperatorAdmin, actor_of, apply_to_all, is_operator, json_display
from kernel.errors import ProblemError

# USD per million tokens to pico-USD per token.
PICO = 10**6
RATES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
TOKENIZERS = [("", "as the catalogue says"), *((name, name) for name in FAMILIES)]


class OverrideForm(forms.ModelForm):  # type: ignore[type-arg]
    tokenizer = forms.ChoiceField(choices=TOKENIZERS, required=False)

    class Meta:
        model = ModelOverride
        fields = ("name", "alias_of", "context_window", "max_output", "latency_cap", "tokenizer")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in ("context_window", "max_output", "latency_cap"):
            self.fields[field] = forms.IntegerField(required=False, min_value=1, max_value=10**12)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        alias_of = cleaned.get("alias_of")
        facts = [cleaned.get(field) for field in self.Meta.fields[2:]]
        if alias_of and any(facts):
            raise ValidationError("An alias takes everything from its model.")
        if alias_of and cleaned.get("name"):
            try:
                refuse_circle(project_id=OPERATOR, name=cleaned["name"], alias_of=alias_of)
            except ProblemError as refusal:
                raise ValidationError({"alias_of": refusal.detail}) from None
        return cleaned


class AppendOnlyAdmin(OperatorAdmin):
    """A change is a new row from now on; what held before stays."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)


@admin.register(ModelOverride)
class ModelOverrideAdmin(AppendOnlyAdmin):
    list_display = ("name", "alias_of", "context_window", "max_output", "project_id", "valid_from", "actor")
    search_fields = ("name", "alias_of", "project_id")
    ordering = ("-id",)
    form = OverrideForm

    def get_fields(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        return (
            OverrideForm.Meta.fields if obj is None else [field.name for field in ModelOverride._meta.fields]
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        author = Author(actor=actor_of(request))
        if obj.alias_of:
            row = alias_model(project_id=OPERATOR, name=obj.name, alias_of=obj.alias_of, author=author)
        else:
            row = override_model(
                project_id=OPERATOR,
                name=obj.name,
                author=author,
                context_window=obj.context_window,
                max_output=obj.max_output,
                latency_cap=obj.latency_cap,
                tokenizer=obj.tokenizer,
            )
        obj.pk, obj.valid_from = row.pk, row.valid_from


def _dollars(*, required: bool) -> forms.DecimalField:
    return forms.DecimalField(
        required=required,
        min_value=Decimal(0),
        max_value=Decimal(100_000),
        decimal_places=6,
        help_text="USD per million tokens.",
    )


class PriceForm(forms.ModelForm):  # type: ignore[type-arg]
    input = _dollars(required=True)
    output = _dollars(required=True)
    cache_read = _dollars(required=False)
    cache_write_5m = _dollars(required=False)
    cache_write_1h = _dollars(required=False)

    class Meta:
        model = ModelPrice
        fields = ("name",)

    def price(self) -> Price:
        dollars = {f"{rate}_pico": self.cleaned_data[rate] for rate in RATES}
        rates: dict[str, Any] = {
            rate: None if usd is None else int(usd * PICO) for rate, usd in dollars.items()
        }
        return Price(price_id="", **rates)


@admin.register(ModelPrice)
class ModelPriceAdmin(AppendOnlyAdmin):
    list_display = ("name", "input_pico", "output_pico", "project_id", "valid_from", "actor")
    search_fields = ("name", "project_id")
    ordering = ("-id",)
    form = PriceForm

    def get_fields(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        return ("name", *RATES) if obj is None else [field.name for field in ModelPrice._meta.fields]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        author = Author(actor=actor_of(request))
        row = set_price(project_id=OPERATOR, name=obj.name, price=form.price(), author=author)
        obj.pk, obj.valid_from = row.pk, row.valid_from


@admin.register(Profile)
class ProfileAdmin(OperatorAdmin):
    list_display = ("name", "title", "preset", "project_id", "current", "version")
    search_fields = ("name", "project_id", "id")
    list_select_related = ("current__profile",)
    actions = ("roll_back",)

    @admin.action(description="Roll back to the revision before", permissions=["view"])
    def roll_back(self, request: HttpRequest, rows: models.QuerySet[Profile]) -> None:
        author = Author(actor=actor_of(request))
        apply_to_all(request, rows, lambda profile: roll_back(profile=profile, author=author))


@admin.register(ProfileRevision)
class ProfileRevisionAdmin(OperatorAdmin):
    list_display = ("profile", "number", "actor", "note", "created_at")
    search_fields = ("profile__name", "profile__id")
    list_select_related = ("profile",)
    ordering = ("-id",)
    fields = ("id", "profile", "number", "actor", "note", "created_at", "shown_policy")
    shown_policy = json_display("policy")


@admin.register(Cap)
class CapAdmin(OperatorAdmin):
    list_display = ("id", "scope", "scope_id", "period", "limit_nano", "active")
    list_filter = ("scope", "period", "active")
    search_fields = ("id", "scope_id")


@admin.register(Balance)
class BalanceAdmin(OperatorAdmin):
    list_display = ("id", "__str__", "settled_nano", "reserved_nano")


@admin.register(Hold)
class HoldAdmin(OperatorAdmin):
    list_display = ("id", "session_id", "model", "state", "amount_nano", "cost_nano", "expires_at")
    list_filter = ("state",)
    search_fields = ("id", "session_id", "project_id")
    ordering = ("-id",)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(OperatorAdmin):
    list_display = ("id", "__str__", "created_at")
    search_fields = ("id", "project_id")
    ordering = ("-id",)
