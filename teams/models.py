"""Who: teams, members, projects, API keys, and the record of what people changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models

from kernel.fields import CanonicalJSONField, IdField

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class Team(models.Model):
    id = IdField(primary_key=True)
    name = models.CharField(max_length=200, unique=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    OWNER = "owner"
    ADMIN = "admin"
    APPROVER = "approver"
    ANALYST = "analyst"
    VIEWER = "viewer"


# What each role may do beyond looking; the pages and the services ask the same table.
ABILITIES: dict[str, frozenset[str]] = {
    Role.OWNER: frozenset({"manage", "approve", "members", "analyse"}),
    Role.ADMIN: frozenset({"manage", "approve", "members", "analyse"}),
    Role.APPROVER: frozenset({"approve", "analyse"}),
    Role.ANALYST: frozenset({"analyse"}),
    Role.VIEWER: frozenset(),
}


class Membership(models.Model):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_team")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team} as {self.role}"

    def may(self, ability: str) -> bool:
        return ability in ABILITIES[self.role]


class ProjectQuerySet(models.QuerySet["Project"]):
    def visible_to(self, user: User) -> ProjectQuerySet:
        return self.filter(team__memberships__user=user)


class Project(models.Model):
    class Headline(models.TextChoices):
        TOKENS = "tokens"
        DOLLARS = "dollars"

    class Content(models.TextChoices):
        FULL = "full"
        NUMBERS_ONLY = "numbers_only"

    class ApprovalDefault(models.TextChoices):
        DECLINE = "decline"
        APPROVE = "approve"

    class Unpriced(models.TextChoices):
        BLOCK = "block"
        TOKENS_ONLY = "tokens_only"
        ASSUME_HIGHEST = "assume_highest"

    id = IdField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="projects")
    name = models.CharField(max_length=200)
    time_zone = models.CharField(max_length=64, default="UTC")
    headline_unit = models.CharField(max_length=10, choices=Headline.choices, default=Headline.TOKENS)
    content_policy = models.CharField(max_length=12, choices=Content.choices, default=Content.FULL)
    retention_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Empty keeps content for ever."
    )
    approval_minutes = models.PositiveIntegerField(default=30)
    approval_default = models.CharField(
        max_length=8, choices=ApprovalDefault.choices, default=ApprovalDefault.DECLINE
    )
    unpriced_policy = models.CharField(max_length=14, choices=Unpriced.choices, default=Unpriced.TOKENS_ONLY)
    created_at = models.DateTimeField()

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="project_name_once_per_team")]

    def __str__(self) -> str:
        return self.name


class Scope(models.TextChoices):
    AGENT = "agent"
    READ = "read"
    MANAGE = "manage"
    APPROVE = "approve"


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def of_project(self, project_id: str) -> ApiKeyQuerySet:
        return self.filter(project_id=project_id)


class ApiKey(models.Model):
    """Only a prefix to find it by and a hash to check it with are kept; the key is shown once."""

    id = IdField(primary_key=True)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=200, blank=True, default="")
    prefix = models.CharField(max_length=16, unique=True)
    secret_sha256 = models.CharField(max_length=64)
    scopes = CanonicalJSONField(default=list)
    acts_for = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        help_text="For approve keys.",
    )
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, help_text="May lie ahead while keys overlap.")

    objects = ApiKeyQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.prefix}…"


class AuditEvent(models.Model):
    """Who changed what, with before and after; never edited."""

    id = IdField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    project_id = IdField(blank=True, default="")
    actor = models.CharField(max_length=200, help_text="user:<name>, key:<prefix> or system")
    action = models.CharField(max_length=80)
    subject_id = models.CharField(max_length=200)
    before = CanonicalJSONField(null=True)
    after = CanonicalJSONField(null=True)
    request_id = models.CharField(max_length=128, blank=True, default="")
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["team", "-id"], name="audit_by_team")]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.subject_id}"


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def of_project(self, project_id: str) -> WebhookQuerySet:
        return self.filter(project_id=project_id)


class Webhook(models.Model):
    """Where a project wants to be told. The signing secret is derived from its id, so none is stored."""

    id = IdField(primary_key=True)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=2000)
    events = CanonicalJSONField(default=list, help_text="Kinds of signals; empty means all.")
    active = models.BooleanField(default=True)
    secret_version = models.PositiveIntegerField(default=1)
    version = models.PositiveIntegerField(default=1, help_text="Moves with every change; the ETag.")
    created_at = models.DateTimeField()

    objects = WebhookQuerySet.as_manager()

    def __str__(self) -> str:
        return self.url

    @property
    def etag(self) -> str:
        return f'"{self.id}-{self.version}"'


class WebhookDelivery(models.Model):
    """One message to one webhook, and how its delivery went."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed"

    id = IdField(primary_key=True)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    kind = models.CharField(max_length=40)
    body = models.BinaryField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    status_code = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["webhook", "-id"], name="delivery_by_webhook")]

    def __str__(self) -> str:
        return f"{self.kind} to {self.webhook_id}"
