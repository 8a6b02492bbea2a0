"""What people are asked when money runs out."""

from __future__ import annotations

from django.db import models

from kernel.fields import CanonicalJSONField, IdField


class ApprovalQuerySet(models.QuerySet["Approval"]):
    def of_project(self, project_id: str) -> ApprovalQuerySet:
        return self.filter(project_id=project_id)

    def pending(self) -> ApprovalQuerySet:
        return self.filter(state=Approval.State.PENDING)


class Approval(models.Model):
    """May more be spent under this cap? One question at a time per cap and project; amounts are nano-USD."""

    class State(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        DECLINED = "declined"

    id = IdField(primary_key=True)
    project_id = IdField()
    session = models.ForeignKey("AgentSession", on_delete=models.PROTECT, related_name="approvals")
    cap_id = IdField()
    scope = models.CharField(max_length=10)
    scope_id = models.CharField(max_length=250)
    period = models.CharField(max_length=5)
    limit_nano = models.BigIntegerField()
    spent_nano = models.BigIntegerField()
    reserved_nano = models.BigIntegerField()
    needed_nano = models.BigIntegerField(
        help_text="What the refused call asked for; 0 when nothing was refused."
    )
    resets_at = models.DateTimeField(null=True)
    paused_sessions = CanonicalJSONField(default=list, help_text="Every session that waits for the answer.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    default = models.CharField(max_length=8, help_text="What holds when nobody answers in time.")
    deadline = models.DateTimeField()
    added_nano = models.BigIntegerField(null=True)
    decided_by = models.CharField(max_length=200, blank=True, default="")
    decided_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    objects = ApprovalQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project_id", "cap_id"],
                condition=models.Q(state="pending"),
                name="one_pending_approval_per_cap",
            )
        ]
        indexes = [
            models.Index(fields=["project_id", "-id"], name="approval_by_project"),
            models.Index(
                fields=["deadline"], condition=models.Q(state="pending"), name="approval_by_deadline"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"
