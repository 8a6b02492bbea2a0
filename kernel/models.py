"""The kernel's tables: idempotency answers, durable jobs and the liveness of processes."""

from __future__ import annotations

from django.db import models

from kernel.fields import CanonicalJSONField, IdField


class IdempotencyRecord(models.Model):
    """The first answer to an Idempotency-Key; status 0 while its transaction is open."""

    project_id = IdField()
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    subject = models.CharField(
        max_length=140, blank=True, default="", help_text="The session that the request's path names."
    )
    status = models.PositiveSmallIntegerField()
    body = models.BinaryField()
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project_id", "key"], name="idempotency_key_once")]

    def __str__(self) -> str:
        return self.key


class Job(models.Model):
    """Work that must happen: written in the transaction that wants it, done by a worker."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        DEAD = "dead"
        CANCELLED = "cancelled"

    OPEN = (State.QUEUED, State.RUNNING)

    id = IdField(primary_key=True)
    kind = models.CharField(max_length=60)
    project_id = IdField(blank=True, default="")
    subject_id = IdField(blank=True, default="", help_text="What the job works on, for example a session.")
    dedupe_key = models.CharField(max_length=200)
    payload = CanonicalJSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    attempt = models.PositiveIntegerField(default=0, help_text="Counts claims; the fencing token.")
    stage = CanonicalJSONField(default=dict, help_text="What is finished already and need not be paid again.")
    progress = models.CharField(max_length=200, blank=True, default="")
    result = CanonicalJSONField(default=dict)
    error = models.TextField(blank=True, default="")
    run_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dedupe_key"],
                condition=models.Q(state__in=("queued", "running")),
                name="one_open_job_per_key",
            )
        ]
        indexes = [
            models.Index(fields=["state", "run_at"], name="job_due"),
            models.Index(fields=["project_id", "-id"], name="job_by_project"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class ProcessHeartbeat(models.Model):
    """When a worker or sweeper last said that it is alive."""

    name = models.CharField(max_length=200, primary_key=True)
    kind = models.CharField(max_length=20)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
