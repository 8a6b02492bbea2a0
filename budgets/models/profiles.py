"""Profiles and their immutable revisions."""

from __future__ import annotations

from django.db import models

from kernel.fields import CanonicalJSONField, IdField


class ProfileQuerySet(models.QuerySet["Profile"]):
    def of_project(self, project_id: str) -> ProfileQuerySet:
        return self.filter(project_id=project_id)


class Profile(models.Model):
    """A named policy of a project; `current` is the revision that running sessions follow."""

    id = IdField(primary_key=True)
    project_id = IdField(db_index=True)
    name = models.CharField(max_length=64)
    title = models.CharField(max_length=200, blank=True, default="")
    preset = models.CharField(
        max_length=64, blank=True, default="", help_text="The preset it was copied from."
    )
    current = models.ForeignKey("ProfileRevision", null=True, on_delete=models.PROTECT, related_name="+")
    version = models.PositiveIntegerField(default=1, help_text="Moves with every change; the ETag.")
    created_at = models.DateTimeField()

    objects = ProfileQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project_id", "name"], name="profile_name_once_per_project")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def etag(self) -> str:
        return f'"{self.id}-{self.version}"'


class ProfileRevision(models.Model):
    """One immutable policy; old turns stay explainable by the numbers that held then."""

    id = IdField(primary_key=True)
    profile = models.ForeignKey(Profile, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    policy = CanonicalJSONField()
    note = models.CharField(max_length=500, blank=True, default="")
    actor = models.CharField(max_length=200)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["profile", "number"], name="revision_number_once")]

    def __str__(self) -> str:
        return f"{self.profile.name} r{self.number}"
