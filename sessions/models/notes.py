"""What the stream was mined for (scratch), and the project's registry of protocols."""

from __future__ import annotations

from django.db import models

from kernel.fields import CanonicalJSONField, IdField


class ScratchNote(models.Model):
    """One entry of the notebook; human inputs are read from the messages themselves."""

    class Kind(models.TextChoices):
        STATE_CHANGE = "state_change"
        DEAD_END = "dead_end"
        ARTIFACT = "artifact"

    id = IdField(primary_key=True)
    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE, related_name="scratch_notes")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    key = models.CharField(max_length=80, help_text="The same finding is noted once.")
    seq = models.BigIntegerField(default=0)
    body = CanonicalJSONField()
    dismissed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "kind", "key"], name="scratch_note_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class ProtocolQuerySet(models.QuerySet["Protocol"]):
    def of_project(self, project_id: str) -> ProtocolQuerySet:
        return self.filter(project_id=project_id)


class Protocol(models.Model):
    """A named document that an agent loads just in time, by the action that its entry names."""

    id = IdField(primary_key=True)
    project_id = IdField()
    name = models.CharField(max_length=200)
    action = models.CharField(max_length=200, blank=True, default="", help_text="The action that loads it.")
    body = models.BinaryField()
    tokens = models.BigIntegerField(help_text="By the generic counter, or the size class that was given.")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = ProtocolQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project_id", "name"], name="protocol_name_once")]

    def __str__(self) -> str:
        return self.name
