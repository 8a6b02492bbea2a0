"""What stands for the past: manifests, summaries, memory and checkpoints."""

from __future__ import annotations

from django.db import models

from kernel.fields import CanonicalJSONField, IdField


class Manifest(models.Model):
    """Immutable: which ranges are verbatim, summarised or hidden, up to base_seq."""

    id = IdField(primary_key=True)
    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE, related_name="manifests")
    epoch = models.PositiveIntegerField()
    items = CanonicalJSONField()
    base_seq = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    reason = models.CharField(max_length=40)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "epoch"], name="one_manifest_per_epoch")]

    def __str__(self) -> str:
        return f"{self.session_id} epoch {self.epoch}"


class Summary(models.Model):
    """What the messages from_seq..to_seq were folded into; the originals stay."""

    id = IdField(primary_key=True)
    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE, related_name="summaries")
    from_seq = models.BigIntegerField()
    to_seq = models.BigIntegerField()
    body = models.BinaryField()
    counts = CanonicalJSONField()
    source = models.CharField(max_length=40, help_text="builtin, a model's name, or agent")
    checks = CanonicalJSONField(default=dict)
    before_tokens = models.BigIntegerField()
    after_tokens = models.BigIntegerField()
    job_id = IdField(blank=True, default="")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.from_seq}–{self.to_seq}"


class MemoryEntry(models.Model):
    """A fact, preference, decision, error or file worth keeping."""

    class Kind(models.TextChoices):
        FACT = "fact"
        PREFERENCE = "preference"
        DECISION = "decision"
        ERROR = "error"
        FILE = "file"

    id = IdField(primary_key=True)
    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE, related_name="memory")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    body = models.BinaryField()
    counts = CanonicalJSONField()
    priority = models.IntegerField(default=0)
    pinned = models.BooleanField(default=False)
    source = models.CharField(max_length=200, help_text="agent, user:<name>, or seq:<n> when extracted")
    key = models.CharField(
        max_length=300, blank=True, default="", help_text="A newer entry with the same key supersedes."
    )
    seq = models.BigIntegerField(default=0)
    superseded_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(
                fields=["session", "-pinned", "-priority", "-seq"],
                condition=models.Q(superseded_at=None),
                name="memory_in_fill_order",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Checkpoint(models.Model):
    """Everything needed to resume: immutable and hash-checked."""

    id = IdField(primary_key=True)
    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE, related_name="checkpoints")
    number = models.PositiveIntegerField()
    manifest = models.ForeignKey(Manifest, null=True, on_delete=models.PROTECT)
    epoch = models.PositiveIntegerField()
    head_seq = models.BigIntegerField()
    base_seq = models.BigIntegerField()
    position = CanonicalJSONField(default=dict)
    content = models.BinaryField(help_text="Sections, memory, model and profile revision, as JSON.")
    reason = models.CharField(max_length=60)
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="checkpoint_number_once")]

    def __str__(self) -> str:
        return f"{self.session_id} #{self.number}"
