"""What was sent and what it used: turns, stored proofs and quarter-hour rollups."""

from __future__ import annotations

from django.db import models

from kernel.fields import CanonicalJSONField, IdField


class Turn(models.Model):
    """One model call as reported; a repeated response id replaces its figures."""

    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE, related_name="turn_rows")
    number = models.PositiveIntegerField()
    response_id = models.CharField(max_length=200, null=True)
    model = models.CharField(max_length=200)
    used_tokens = models.BigIntegerField()
    total_tokens = models.BigIntegerField(help_text="The budget that held then.")
    assembled_tokens = models.BigIntegerField(
        null=True, help_text="What we counted for the prompt, uncorrected."
    )
    usage = CanonicalJSONField()
    cost_nano = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "number"], name="turn_number_once"),
            models.UniqueConstraint(fields=["session", "response_id"], name="response_once_per_session"),
        ]

    def __str__(self) -> str:
        return f"turn {self.number}"


class Assembly(models.Model):
    """The proof of one assembled context: figures and cuts, no content."""

    id = IdField(primary_key=True)
    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE, related_name="assemblies")
    number = models.PositiveIntegerField()
    epoch = models.PositiveIntegerField()
    revision = models.ForeignKey("budgets.ProfileRevision", on_delete=models.PROTECT)
    model = models.CharField(max_length=200)
    report = CanonicalJSONField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="assembly_number_once")]

    def __str__(self) -> str:
        return str(self.id)


class UsageBucket(models.Model):
    """Rollup of a quarter hour, written in the transaction of the usage itself."""

    project_id = IdField()
    model = models.CharField(max_length=200)
    profile_id = IdField()
    section = models.CharField(max_length=64, blank=True, default="", help_text="Empty: the call as a whole.")
    quarter = models.DateTimeField()
    calls = models.BigIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(default=0)
    unpriced_calls = models.BigIntegerField(default=0)
    used_tokens = models.BigIntegerField(default=0, help_text="Sum over calls of what the context used.")
    planned_tokens = models.BigIntegerField(default=0)
    over_budget_calls = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project_id", "quarter", "model", "profile_id", "section"],
                name="one_bucket_per_quarter",
            )
        ]

    def __str__(self) -> str:
        return f"{self.quarter:%Y-%m-%d %H:%M} {self.model}"
