"""A session, its messages and its section texts."""

from __future__ import annotations

from datetime import datetime

from django.db import models

from budgets.models import Profile, ProfileRevision
from kernel.fields import CanonicalJSONField, IdField


class SessionQuerySet(models.QuerySet["AgentSession"]):
    def of_project(self, project_id: str) -> SessionQuerySet:
        return self.filter(project_id=project_id)


class AgentSession(models.Model):
    """One agent's conversation. Appends move head_seq; compaction, restore and erase move epoch."""

    class State(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"
        WRAPPING_UP = "wrapping_up"
        EXHAUSTED = "exhausted"
        ENDED = "ended"
        ERASED = "erased"

    id = IdField(primary_key=True)
    project_id = IdField()
    key_id = IdField(blank=True, default="", help_text="The API key that opened the session.")
    external_id = models.CharField(max_length=128, null=True)
    parent = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="children")
    result_schema = CanonicalJSONField(null=True, help_text="What a child's result must look like.")
    result = CanonicalJSONField(null=True)
    metadata = CanonicalJSONField(default=dict)
    task = models.TextField(blank=True, default="")
    scratch_path = models.TextField(blank=True, default="")

    model = models.CharField(max_length=200)
    tokenizer = models.CharField(max_length=40, help_text="The counter that the running totals are kept in.")
    ratio_bp = models.PositiveIntegerField(
        default=10_000, help_text="Learned correction of the counter, fixed here."
    )
    margin_bp = models.PositiveIntegerField(default=0)
    assembled_tokens = models.BigIntegerField(
        null=True, help_text="The last context, until its usage is reported."
    )
    profile = models.ForeignKey(Profile, on_delete=models.PROTECT)
    pinned_revision = models.ForeignKey(ProfileRevision, null=True, on_delete=models.PROTECT)
    state = models.CharField(max_length=12, choices=State.choices, default=State.ACTIVE)
    pause_reason = models.TextField(blank=True, default="")
    paused_by_cap = IdField(blank=True, default="")

    head_seq = models.BigIntegerField(default=0)
    base_seq = models.BigIntegerField(default=0, help_text="Messages up to here are covered by the manifest.")
    hidden = CanonicalJSONField(
        default=list, help_text="Ranges [first, last] that a restore took out of view."
    )
    cut_seq = models.BigIntegerField(default=0, help_text="The sticky cut: the tail begins after it.")
    epoch = models.PositiveIntegerField(default=0)
    manifest = models.ForeignKey("Manifest", null=True, on_delete=models.PROTECT, related_name="+")
    first_user_seq = models.BigIntegerField(default=0)
    last_user_seq = models.BigIntegerField(default=0)
    signal_seq = models.BigIntegerField(default=0)
    dropped_unsummarised = models.BigIntegerField(default=0)

    parts = CanonicalJSONField(
        default=dict, help_text="Tokens of the live view by origin; they add up to it."
    )
    reported_prompt = models.BigIntegerField(
        null=True, help_text="The last prompt the provider reported, this epoch."
    )
    counted_since_report = models.BigIntegerField(default=0)
    pressure = CanonicalJSONField(default=dict)
    level = models.CharField(max_length=10, default="normal")

    keeps_content = models.BooleanField(default=True, help_text="False: tokens, usage and hashes only.")
    responses_since_result = models.PositiveIntegerField(default=0)
    assemblies_made = models.PositiveIntegerField(default=0)
    turns = models.PositiveIntegerField(default=0)
    compactions = models.PositiveIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    spent_nano = models.BigIntegerField(default=0)
    has_unpriced = models.BooleanField(default=False)

    cfa_state = models.TextField(
        blank=True, default="", help_text="The latest reported state of the agent's own protocol."
    )
    position = CanonicalJSONField(
        default=dict, help_text="Epic, story, phase, task and commit as last reported."
    )
    subagents_done = models.PositiveIntegerField(default=0)
    protocols = CanonicalJSONField(default=dict, help_text="Loaded protocols and their tokens.")
    last_prefix = CanonicalJSONField(default=list)
    last_compaction = CanonicalJSONField(
        null=True, help_text="Outcome of the last attempt: the breaker's memory."
    )

    created_at = models.DateTimeField()
    last_activity_at = models.DateTimeField()

    # No column: when a service read the row under its lock, by the database's clock.
    read_at: datetime

    objects = SessionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project_id", "external_id"], name="external_id_once_per_project"
            ),
        ]
        indexes = [
            models.Index(fields=["project_id", "-id"], name="session_by_project"),
            models.Index(fields=["project_id", "-last_activity_at"], name="session_by_activity"),
        ]

    def __str__(self) -> str:
        return self.external_id or self.id

    @property
    def counted_tokens(self) -> int:
        return sum(self.parts.values())

    @property
    def used_tokens(self) -> int:
        """What would be sent if nothing were cut: the report plus what came since, or the counted view."""
        if self.reported_prompt is None:
            return self.counted_tokens
        return max(self.reported_prompt + self.counted_since_report, self.counted_tokens)


class Message(models.Model):
    """One canonical message, append-only. The body is JSON in bytes: NUL and lone surrogates survive."""

    session = models.ForeignKey(AgentSession, on_delete=models.CASCADE, related_name="messages")
    seq = models.BigIntegerField()
    role = models.CharField(max_length=10)
    counts = CanonicalJSONField(help_text="Tokens by counter, and words; computed once.")
    body = models.BinaryField()
    call_ids = CanonicalJSONField(default=list)
    result_id = models.TextField(null=True)
    pinned = models.BooleanField(default=False)
    is_human = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="message_seq_once")]
        indexes = [
            models.Index(fields=["session", "seq"], condition=models.Q(pinned=True), name="message_pinned"),
            models.Index(fields=["session", "seq"], condition=models.Q(is_human=True), name="message_human"),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.seq}"


class SectionContent(models.Model):
    """The present text of a section that the agent sets itself."""

    session = models.ForeignKey(AgentSession, on_delete=models.CASCADE, related_name="section_contents")
    name = models.CharField(max_length=64)
    body = models.BinaryField()
    tokens = models.BigIntegerField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "name"], name="section_once_per_session")]

    def __str__(self) -> str:
        return self.name
