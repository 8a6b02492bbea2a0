"""What owners and admins change in the browser: projects and their settings, people and their way in."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from kernel.errors import Conflict, FieldProblem, Forbidden, Invalid
from teams.models import Membership, Project, Role, Team
from teams.services import ensure_project, record_audit, set_member

SETTINGS = (
    "time_zone",
    "headline_unit",
    "content_policy",
    "retention_days",
    "approval_minutes",
    "approval_default",
    "unpriced_policy",
)
MAX_APPROVAL_MINUTES = 60 * 24 * 30


@transaction.atomic
def create_project(*, team: Team, name: str, actor: str) -> Project:
    name = name.strip()
    if not name or len(name) > 200:
        raise Invalid("A project needs a name of at most 200 characters.", code="invalid_name")
    if Project.objects.filter(team=team, name=name).exists():
        raise Conflict(f"There is a project named {name} already.", code="project_exists")
    project = ensure_project(team_name=team.name, project_name=name)
    record_audit(
        team_id=team.pk, project_id=project.pk, actor=actor, action="project.named", subject_id=project.pk
    )
    return project


@transaction.atomic
def change_project(*, project: Project, changes: dict[str, Any], actor: str, request_id: str = "") -> Project:
    """Every setting at once; the whole form is refused when one field is wrong."""
    locked = Project.objects.select_for_update().get(pk=project.pk)
    before = {name: getattr(locked, name) for name in SETTINGS}
    for name in SETTINGS:
        if name in changes:
            setattr(locked, name, changes[name])
    _refuse_bad_settings(locked)
    after = {name: getattr(locked, name) for name in SETTINGS}
    if after == before:
        return locked
    locked.save(update_fields=list(SETTINGS))
    record_audit(
        team_id=locked.team_id,
        project_id=locked.pk,
        actor=actor,
        action="project.changed",
        subject_id=locked.pk,
        before=before,
        after=after,
        request_id=request_id,
    )
    return locked


def _refuse_bad_settings(project: Project) -> None:
    found = []
    try:
        ZoneInfo(project.time_zone)
    except (ValueError, OSError):
        found.append(FieldProblem(pointer="/time_zone", detail="is not a known time zone"))
    if not 1 <= project.approval_minutes <= MAX_APPROVAL_MINUTES:
        found.append(FieldProblem(pointer="/approval_minutes", detail="must be 1 to 43,200 minutes"))
    try:
        project.clean_fields(exclude=["team"])
    except ValidationError as error:
        found += [
            FieldProblem(pointer=f"/{name}", detail=" ".join(sentences))
            for name, sentences in error.message_dict.items()
        ]
    if found:
        raise Invalid("These settings cannot hold.", code="invalid_settings", errors=tuple(found))


@transaction.atomic
def invite(*, team: Team, username: str, role: str, actor: str, by_role: str) -> tuple[User, str | None]:
    """A member and, for somebody new, the path where they choose their password; it works once."""
    if role not in Role.values:
        raise Invalid(f"Roles are {', '.join(Role.values)}.", code="invalid_role")
    _refuse_above(by_role, role)
    username = username.strip()
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError:
        raise Invalid("A name has letters, digits and @ . + - _ only.", code="invalid_name") from None
    user = User.objects.filter(username=username).first()
    if user is not None:
        set_member(team=team, user=user, role=role, actor=actor)
        return user, None
    user = User.objects.create_user(username=username[:150])
    user.set_unusable_password()
    user.save()
    set_member(team=team, user=user, role=role, actor=actor)
    return user, _password_path(user)


@transaction.atomic
def password_link(*, membership: Membership, actor: str, by_role: str) -> str:
    """For somebody who forgot theirs. Only where nobody gains more than they may do already."""
    user = membership.user
    elsewhere = user.memberships.exclude(team_id=membership.team_id).exists()
    if elsewhere or user.is_superuser or user.is_staff:
        raise Forbidden("This account reaches beyond your team; an operator can help.", code="account_beyond")
    _refuse_above(by_role, membership.role)
    record_audit(
        team_id=membership.team_id,
        actor=actor,
        action="member.password_link",
        subject_id=str(user.pk),
    )
    return _password_path(user)


def _refuse_above(by_role: str, role: str) -> None:
    if role == Role.OWNER and by_role != Role.OWNER:
        raise Forbidden("Only an owner can do this for an owner.", code="role_missing")


def _password_path(user: User) -> str:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return f"/set-password/{uid}/{default_token_generator.make_token(user)}"
