"""What people say about models beyond the shipped catalogue: dated, append-only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self, TypeVar

from django.db import models

from kernel.clock import db_now
from kernel.fields import CanonicalJSONField, IdField

Row = TypeVar("Row", bound=models.Model)


class DatedQuerySet(models.QuerySet[Row]):
    """Rows of one project and the operator's, which hold for every project."""

    def for_project(self, project_id: str) -> Self:
        return self.filter(project_id__in=("", project_id))

    def in_force(self) -> Self:
        return self.filter(valid_from__lte=db_now())


class ModelOverrideQuerySet(DatedQuerySet["ModelOverride"]):
    def named_or_aliased(self, names: Iterable[str]) -> Self:
        """Rows of these names and of what these names are aliases of, in one query."""
        targets = self.filter(name__in=names).exclude(alias_of="").values("alias_of")
        return self.filter(models.Q(name__in=names) | models.Q(name__in=targets))


class ModelOverride(models.Model):
    """A fact about a model that wins over the catalogue from a moment on; empty fields do not override."""

    id = IdField(primary_key=True)
    project_id = IdField(blank=True, default="", help_text="Empty: set by the operator for every project.")
    name = models.CharField(max_length=200)
    alias_of = models.CharField(max_length=200, blank=True, default="")
    context_window = models.BigIntegerField(null=True)
    max_output = models.BigIntegerField(null=True)
    latency_cap = models.BigIntegerField(null=True)
    tokenizer = models.CharField(max_length=40, blank=True, default="")
    actor = models.CharField(max_length=200)
    valid_from = models.DateTimeField()
    created_at = models.DateTimeField()

    objects = ModelOverrideQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["name", "project_id"], name="model_override_by_name")]

    def __str__(self) -> str:
        return f"{self.name} from {self.valid_from:%Y-%m-%d}"


class ModelPrice(models.Model):
    """Prices from a moment on, in pico-USD per token; append-only."""

    id = IdField(primary_key=True)
    project_id = IdField(blank=True, default="")
    name = models.CharField(max_length=200)
    input_pico = models.BigIntegerField()
    output_pico = models.BigIntegerField()
    cache_read_pico = models.BigIntegerField(null=True)
    cache_write_5m_pico = models.BigIntegerField(null=True)
    cache_write_1h_pico = models.BigIntegerField(null=True)
    tiers = CanonicalJSONField(default=list)
    actor = models.CharField(max_length=200)
    valid_from = models.DateTimeField()
    created_at = models.DateTimeField()

    objects = DatedQuerySet["ModelPrice"].as_manager()

    class Meta:
        indexes = [models.Index(fields=["name", "project_id"], name="model_price_by_name")]

    def __str__(self) -> str:
        return f"{self.name} from {self.valid_from:%Y-%m-%d}"


class ModelCalibration(models.Model):
    """What reported usage taught about counting a model's tokens in one project; append-only."""

    id = IdField(primary_key=True)
    project_id = IdField()
    name = models.CharField(max_length=200)
    ratio_bp = models.PositiveIntegerField()
    margin_bp = models.PositiveIntegerField()
    drift_bp = models.IntegerField()
    pairs = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["project_id", "name", "-id"], name="calibration_newest")]

    def __str__(self) -> str:
        return f"{self.name} × {self.ratio_bp} bp"
