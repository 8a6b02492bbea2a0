"""Everything that changes teams, projects, members and keys; each change leaves an audit row."""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from kernel.clock import read_now
from kernel.errors import Conflict, Invalid
from kernel.ids import new_id
from teams.auth import KEY_PREFIX, PREFIX_LENGTH, hash_secret
from teams.models import ApiKey, AuditEvent, Membership, Project, Role, Scope, Team

_KEY_ALPHABET = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """The stored key and, this once, its secret."""

    key: ApiKey
    secret: str


def record_audit(
    *,
    team_id: str,
    actor: str,
    action: str,
    subject_id: str,
    before: Any = None,
    after: Any = None,
    project_id: str = "",
    request_id: str = "",
) -> None:
    AuditEvent.objects.create(
        id=new_id("audit"),
        team_id=team_id,
        project_id=project_id,
        actor=actor,
        action=action,
        subject_id=subject_id,
        before=before,
        after=after,
        request_id=request_id,
        created_at=read_now(),
    )


@lru_cache(maxsize=10_000)
def team_of(project_id: str) -> str:
    """A project never changes its team."""
    return Project.objects.values_list("team_id", flat=True).get(pk=project_id)


@transaction.atomic
def ensure_project(*, team_name: str, project_name: str) -> Project:
    """The project of that name in the team of that name, created when absent."""
    team, _ = Team.objects.get_or_create(
        name=team_name, defaults={"id": new_id("team"), "created_at": read_now()}
    )
    project, created = Project.objects.get_or_create(
        team=team, name=project_name, defaults={"id": new_id("proj"), "created_at": read_now()}
    )
    if created:
        record_audit(
            team_id=team.pk,
            project_id=project.pk,
            actor="system",
            action="project.created",
            subject_id=project.pk,
        )
    return project


@transaction.atomic
def create_api_key(
    *,
    project: Project,
    scopes: list[str],
    name: str = "",
    acts_for: User | None = None,
    actor: str = "system",
) -> NewKey:
    check_scopes(scopes, acts_for, project)
    secret = KEY_PREFIX + "".join(secrets.choice(_KEY_ALPHABET) for _ in range(40))
    key = ApiKey.objects.create(
        id=new_id("key"),
        project=project,
        name=name,
        prefix=secret[:PREFIX_LENGTH],
        secret_sha256=hash_secret(secret),
        scopes=sorted(set(scopes)),
        acts_for_id=acts_for.pk if acts_for else None,
        created_at=read_now(),
    )
    record_audit(
        team_id=project.team_id,
        project_id=project.pk,
        actor=actor,
        action="key.created",
        subject_id=key.pk,
        after={"scopes": key.scopes, "prefix": key.prefix},
    )
    return NewKey(key=key, secret=secret)


@transaction.atomic
def revoke_api_key(*, key: ApiKey, actor: str, after: timedelta = timedelta(0)) -> None:
    moment = read_now() + after
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=moment)
    record_audit(
        team_id=key.project.team_id,
        project_id=key.project_id,
        actor=actor,
        action="key.revoked",
        subject_id=key.pk,
        after={"revoked_at": moment.isoformat()},
    )


@transaction.atomic
def rotate_api_key(*, key: ApiKey, actor: str, overlap: timedelta) -> NewKey:
    """A new key with the same rights; the old one keeps working for the overlap."""
    fresh = create_api_key(
        project=key.project, scopes=list(key.scopes), name=key.name, acts_for=key.acts_for, actor=actor
    )
    revoke_api_key(key=key, actor=actor, after=overlap)
    return fresh


@transaction.atomic
def set_member(*, team: Team, user: User, role: str, actor: str) -> Membership:
    existing = Membership.objects.select_for_update().filter(team=team, user=user).first()
    if existing and existing.role == Role.OWNER and role != Role.OWNER:
        _refuse_last_owner(team)
    membership, _ = Membership.objects.update_or_create(
        team=team,
        user=user,
        defaults={"role": role},
        create_defaults={"role": role, "created_at": read_now()},
    )
    record_audit(
        team_id=team.pk,
        actor=actor,
        action="member.set",
        subject_id=str(user.pk),
        before={"role": existing.role} if existing else None,
        after={"role": role},
    )
    return membership


@transaction.atomic
def remove_member(*, membership: Membership, actor: str) -> None:
    if membership.role == Role.OWNER:
        _refuse_last_owner(membership.team)
    record_audit(
        team_id=membership.team_id,
        actor=actor,
        action="member.removed",
        subject_id=str(membership.user_id),
        before={"role": membership.role},
    )
    membership.delete()


def _refuse_last_owner(team: Team) -> None:
    owners = list(Membership.objects.select_for_update().filter(team=team, role=Role.OWNER))
    if len(owners) <= 1:
        raise Conflict("The last owner cannot leave.", code="last_owner")


def check_scopes(scopes: list[str], acts_for: User | None, project: Project) -> None:
    unknown = sorted(set(scopes) - set(Scope.values))
    if unknown or not scopes:
        raise Invalid(f"Scopes are {', '.join(Scope.values)}; not {unknown or 'none'}.", code="invalid_scope")
    if Scope.APPROVE not in scopes:
        return
    if Scope.AGENT in scopes:
        raise Invalid("A key that reports as an agent cannot approve spending.", code="invalid_scope")
    membership = (
        Membership.objects.filter(team_id=project.team_id, user_id=acts_for.pk).first() if acts_for else None
    )
    if membership is None or not membership.may("approve"):
        raise Invalid("An approve key acts for a member of the team who may approve.", code="invalid_scope")
