"""How the gateway treats a project's calls; a project without a row is observed."""

from __future__ import annotations

from django.db import models

from kernel.fields import IdField


class ProjectMode(models.Model):
    project_id = IdField(primary_key=True)
    assembles = models.BooleanField(
        default=False, help_text="The messages of a call are replaced by the session's own context."
    )

    def __str__(self) -> str:
        return f"{self.project_id} {'assembles' if self.assembles else 'observes'}"
