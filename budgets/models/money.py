"""Caps, what was spent and reserved under them, holds, and the append-only ledger; amounts are nano-USD."""

from __future__ import annotations

from django.db import models

from budgets.core.usage import TokenUsage
from kernel.fields import CanonicalJSONField, IdField


class Scope(models.TextChoices):
    TEAM = "team"
    PROJECT = "project"
    MODEL = "model"
    KEY = "key"
    SESSION = "session"


class CapQuerySet(models.QuerySet["Cap"]):
    def of_project(self, project_id: str) -> CapQuerySet:
        return self.filter(project_id=project_id)

    def active(self) -> CapQuerySet:
        return self.filter(active=True)


class Cap(models.Model):
    """What a scope may spend in each window of a period; several caps may meet, all of them hold."""

    class Period(models.TextChoices):
        TOTAL = "total"
        HOUR = "hour"
        DAY = "day"
        WEEK = "week"
        MONTH = "month"

    id = IdField(primary_key=True)
    team_id = IdField()
    project_id = IdField(blank=True, default="", help_text="Empty for a cap on the whole team.")
    scope = models.CharField(max_length=10, choices=Scope.choices)
    scope_id = models.CharField(max_length=250)
    period = models.CharField(max_length=5, choices=Period.choices, default=Period.TOTAL)
    limit_nano = models.BigIntegerField()
    warn_bp = models.PositiveIntegerField(default=8000)
    wrap_up_reserve_nano = models.BigIntegerField(
        help_text="Inside the limit, kept for the turn after a decline."
    )
    version = models.PositiveIntegerField(default=1, help_text="Moves with every change; the ETag.")
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    objects = CapQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["scope", "scope_id"], condition=models.Q(active=True), name="cap_by_scope"),
            models.Index(fields=["project_id", "-id"], name="cap_by_project"),
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.scope_id} {self.period}"

    @property
    def etag(self) -> str:
        return f'"{self.id}-{self.version}"'


class Balance(models.Model):
    """One window of one cap; made when the window is first needed, so nothing is ever reset."""

    cap_id: str
    cap = models.ForeignKey(Cap, on_delete=models.PROTECT, related_name="balances")
    window_key = models.CharField(max_length=13)
    starts_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)
    limit_nano = models.BigIntegerField(help_text="The cap's limit plus what was approved for this window.")
    wrap_up_reserve_nano = models.BigIntegerField()
    settled_nano = models.BigIntegerField(default=0)
    reserved_nano = models.BigIntegerField(default=0)
    warned = models.BooleanField(default=False, help_text="COST_WARNING was said in this window.")
    limit_told = models.BooleanField(
        default=False, help_text="COST_LIMIT was said since the limit last changed."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cap", "window_key"], name="one_balance_per_window"),
            models.CheckConstraint(condition=models.Q(reserved_nano__gte=0), name="reserved_never_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.cap_id} {self.window_key}"


class HoldQuerySet(models.QuerySet["Hold"]):
    def of_project(self, project_id: str) -> HoldQuerySet:
        return self.filter(project_id=project_id)


class Hold(models.Model):
    """Money set aside before a call; it is settled, voided or expired exactly once."""

    class State(models.TextChoices):
        OPEN = "open"
        SETTLED = "settled"
        VOIDED = "voided"
        EXPIRED = "expired"

    id = IdField(primary_key=True)
    team_id = IdField()
    project_id = IdField()
    session_id = IdField()
    key_id = IdField(blank=True, default="")
    model = models.CharField(max_length=200)
    requested_model = models.CharField(
        max_length=200, help_text="The name as asked for, which finds its price."
    )
    amount_nano = models.BigIntegerField()
    unpriced = models.BooleanField(default=False, help_text="No price is known: only tokens are counted.")
    estimated_input = models.BigIntegerField(null=True)
    estimated_output = models.BigIntegerField(null=True)
    wrap_up = models.BooleanField(default=False)
    balance_ids = CanonicalJSONField(
        default=list, help_text="Where the amount is reserved while the hold is open."
    )
    state = models.CharField(max_length=7, choices=State.choices, default=State.OPEN)
    late = models.BooleanField(default=False, help_text="Settled after it had expired.")
    cost_nano = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)

    objects = HoldQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["expires_at"], condition=models.Q(state="open"), name="hold_open_by_expiry"),
            models.Index(fields=["session_id", "-id"], name="hold_by_session"),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"

    @property
    def overrun_nano(self) -> int:
        """What the call cost beyond what was set aside for it."""
        return max(0, (self.cost_nano or 0) - self.amount_nano)


class LedgerQuerySet(models.QuerySet["LedgerEntry"]):
    def of_project(self, project_id: str) -> LedgerQuerySet:
        return self.filter(project_id=project_id)


class LedgerEntry(models.Model):
    """What was used and what it cost. Rows are never changed; a correction is a row of its own."""

    class Kind(models.TextChoices):
        USAGE = "usage"
        CORRECTION = "correction"
        SETTLE = "settle"
        SUMMARISER = "summariser"

    team_id = IdField()
    project_id = IdField()
    session_id = IdField(blank=True, default="")
    key_id = IdField(blank=True, default="")
    model = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    input_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_5m_tokens = models.BigIntegerField(default=0)
    cache_write_1h_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    reasoning_tokens = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(null=True, help_text="Empty: unpriced, which is not 0.")
    price_id = models.CharField(max_length=120, blank=True, default="")
    source = models.CharField(max_length=12, default="reported")
    hold_id = IdField(blank=True, default="")
    response_id = models.CharField(max_length=200, blank=True, default="")
    corrects_id: int | None
    corrects = models.OneToOneField("self", null=True, on_delete=models.PROTECT, related_name="correction")
    occurred_at = models.DateTimeField(help_text="As the agent says.")
    counted_at = models.DateTimeField(
        help_text="Decides the windows: when it was recorded, or its hold was made."
    )
    created_at = models.DateTimeField()

    objects = LedgerQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["project_id", "counted_at"], name="ledger_by_project"),
            models.Index(fields=["session_id", "id"], name="ledger_by_session"),
            models.Index(fields=["session_id", "response_id"], name="ledger_by_response"),
            models.Index(fields=["hold_id"], name="ledger_by_hold"),
            models.Index(fields=["key_id", "counted_at"], name="ledger_by_key"),
            models.Index(fields=["team_id", "counted_at"], name="ledger_by_team"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.cost_nano}"

    @property
    def usage(self) -> TokenUsage:
        return TokenUsage(**{name: getattr(self, name) for name in TokenUsage.__dataclass_fields__})
