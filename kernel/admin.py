"""The operator's view of jobs and processes, and the base of every page of the admin: superusers only."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db import models
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.admin import ModelAdmin

from kernel.errors import ProblemError
from kernel.jobs import queue
from kernel.models import IdempotencyRecord, Job, ProcessHeartbeat


class OperatorAdmin(ModelAdmin):
    """Reading alone; a page that writes says so, and does it through a service."""

    list_per_page = 50
    show_full_result_count = False

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return is_operator(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


def is_operator(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_superuser)


def actor_of(request: HttpRequest) -> str:
    return f"user:{request.user.get_username()}"


def json_display(field: str) -> Callable[[Any, models.Model], str]:
    """A column of the detail page that shows a JSON field indented."""

    def show(page: Any, row: models.Model) -> str:
        return format_html("<pre>{}</pre>", json.dumps(getattr(row, field), indent=1))

    show.short_description = field  # type: ignore[attr-defined]
    return show


def apply_to_all(request: HttpRequest, rows: models.QuerySet[Any], change: Callable[[Any], object]) -> None:
    """Makes the change row by row and tells what was refused."""
    for row in rows:
        try:
            change(row)
        except ProblemError as refusal:
            messages.error(request, f"{row}: {refusal.detail}")
        else:
            messages.success(request, f"{row}: done.")


@admin.register(Job)
class JobAdmin(OperatorAdmin):
    list_display = ("id", "kind", "state", "attempt", "subject_id", "created_at", "finished_at")
    list_filter = ("state", "kind")
    search_fields = ("id", "subject_id", "project_id")
    ordering = ("-id",)
    fields = (
        "id",
        "kind",
        "state",
        "attempt",
        "project_id",
        "subject_id",
        "progress",
        "error",
        "run_at",
        "lease_until",
        "created_at",
        "finished_at",
        "shown_payload",
        "shown_result",
    )
    shown_payload = json_display("payload")
    shown_result = json_display("result")
    actions = ("retry", "cancel")

    @admin.action(description="Try again", permissions=["view"])
    def retry(self, request: HttpRequest, rows: models.QuerySet[Job]) -> None:
        apply_to_all(request, rows, lambda job: queue.retry(job.pk))

    @admin.action(description="Cancel", permissions=["view"])
    def cancel(self, request: HttpRequest, rows: models.QuerySet[Job]) -> None:
        apply_to_all(request, rows, lambda job: queue.cancel(job.pk))


@admin.register(IdempotencyRecord)
class IdempotencyRecordAdmin(OperatorAdmin):
    list_display = ("key", "project_id", "status", "created_at")
    search_fields = ("key", "project_id")
    # The answer itself is the project's, not the operator's.
    fields = ("key", "project_id", "status", "fingerprint", "created_at")


@admin.register(ProcessHeartbeat)
class ProcessHeartbeatAdmin(OperatorAdmin):
    list_display = ("name", "kind", "seen_at")
    list_filter = ("kind",)
