"""What agents reported, and what agents and people are told."""

from __future__ import annotations

from django.db import models

from kernel.fields import CanonicalJSONField, IdField


class ReportedEvent(models.Model):
    """An event as it came, unknown ones included; its id counts once per session."""

    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE, related_name="reported_events")
    event_id = models.CharField(max_length=200, null=True)
    kind = models.CharField(max_length=30)
    payload = models.BinaryField()
    first_seq = models.BigIntegerField(null=True, help_text="The first message it appended.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "event_id"], name="event_id_once_per_session")
        ]
        indexes = [models.Index(fields=["session", "kind", "id"], name="event_by_kind")]

    def __str__(self) -> str:
        return self.event_id or str(self.pk)


class Signal(models.Model):
    """Something happened that somebody may want to know; ordered by number within its session."""

    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE, related_name="signals")
    project_id = IdField()
    number = models.BigIntegerField()
    kind = models.CharField(max_length=30)
    payload = CanonicalJSONField(default=dict)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="signal_number_once")]
        indexes = [models.Index(fields=["project_id", "-id"], name="signal_by_project")]

    def __str__(self) -> str:
        return self.kind


class Intervention(models.Model):
    """Text that must be injected at the next turn boundary; pending until acknowledged."""

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        ACKNOWLEDGED = "acknowledged"

    id = IdField(primary_key=True)
    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE, related_name="interventions")
    kind = models.CharField(max_length=30)
    text = models.TextField()
    state = models.CharField(max_length=12, choices=State.choices, default=State.PENDING)
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session", "kind"],
                condition=models.Q(state="pending"),
                name="one_pending_intervention_per_kind",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.session_id}"
