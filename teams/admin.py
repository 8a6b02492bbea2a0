"""The operator's view of teams, projects, members, keys and the audit trail; writes go through services."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from kernel.admin import OperatorAdmin, actor_of, apply_to_all, is_operator, json_display
from kernel.errors import ProblemError
from teams import services
from teams.models import ApiKey, AuditEvent, Membership, Project, Scope, Team

admin.site.unregister(Group)
admin.site.unregister(User)


@admin.register(User)
class PersonAdmin(BaseUserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Team)
class TeamAdmin(OperatorAdmin):
    list_display = ("name", "id", "created_at")
    search_fields = ("name", "id")


class ProjectForm(forms.ModelForm):  # type: ignore[type-arg]
    team_name = forms.CharField(max_length=200, help_text="Created when absent.")

    class Meta:
        model = Project
        fields = ("name",)


@admin.register(Project)
class ProjectAdmin(OperatorAdmin):
    list_display = ("name", "team", "time_zone", "content_policy", "id", "created_at")
    list_filter = ("team",)
    search_fields = ("name", "id")
    form = ProjectForm

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def get_fields(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        return ("team_name", "name") if obj is None else [field.name for field in Project._meta.fields]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        stored = services.ensure_project(team_name=form.cleaned_data["team_name"], project_name=obj.name)
        obj.pk, obj.team_id = stored.pk, stored.team_id


class MembershipForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Membership
        fields = ("team", "user", "role")


@admin.register(Membership)
class MembershipAdmin(OperatorAdmin):
    list_display = ("user", "team", "role", "created_at")
    list_filter = ("team", "role")
    form = MembershipForm
    actions = ("remove",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def get_fields(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        return ("team", "user", "role")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        stored = services.set_member(team=obj.team, user=obj.user, role=obj.role, actor=actor_of(request))
        obj.pk = stored.pk

    @admin.action(description="Remove from the team", permissions=["view"])
    def remove(self, request: HttpRequest, rows: models.QuerySet[Membership]) -> None:
        apply_to_all(
            request, rows, lambda row: services.remove_member(membership=row, actor=actor_of(request))
        )


class ApiKeyForm(forms.ModelForm):  # type: ignore[type-arg]
    scopes = forms.MultipleChoiceField(choices=Scope.choices, widget=forms.CheckboxSelectMultiple)

    class Meta:
        model = ApiKey
        fields = ("project", "name", "scopes", "acts_for")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not {"project", "scopes"} <= cleaned.keys():
            return cleaned
        try:
            services.check_scopes(cleaned["scopes"], cleaned.get("acts_for"), cleaned["project"])
        except ProblemError as refusal:
            raise ValidationError({"scopes": refusal.detail}) from None
        return cleaned


@admin.register(ApiKey)
class ApiKeyAdmin(OperatorAdmin):
    list_display = ("prefix", "name", "project", "created_at", "last_used_at", "revoked_at")
    list_filter = ("project",)
    search_fields = ("prefix", "name")
    form = ApiKeyForm
    actions = ("revoke",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def get_fields(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        asked = ("project", "name", "scopes", "acts_for")
        return asked if obj is None else ("prefix", *asked, "created_at", "last_used_at", "revoked_at")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        made = services.create_api_key(
            project=obj.project,
            scopes=form.cleaned_data["scopes"],
            name=obj.name,
            acts_for=obj.acts_for,
            actor=actor_of(request),
        )
        obj.pk, obj.prefix = made.key.pk, made.key.prefix
        messages.warning(request, f"The key, shown this once: {made.secret}")

    @admin.action(description="Revoke", permissions=["view"])
    def revoke(self, request: HttpRequest, rows: models.QuerySet[ApiKey]) -> None:
        apply_to_all(request, rows, lambda key: services.revoke_api_key(key=key, actor=actor_of(request)))


@admin.register(AuditEvent)
class AuditEventAdmin(OperatorAdmin):
    list_display = ("created_at", "actor", "action", "subject_id", "team")
    list_filter = ("action", "team")
    search_fields = ("actor", "subject_id", "request_id")
    ordering = ("-id",)
    fields = (
        "id",
        "created_at",
        "team",
        "project_id",
        "actor",
        "action",
        "subject_id",
        "request_id",
        "shown_before",
        "shown_after",
    )
    shown_before = json_display("before")
    shown_after = json_display("after")
