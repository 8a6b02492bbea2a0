"""API keys at the door: who is calling, for which project, with which scopes."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q
from django.http import HttpRequest
from ninja.security import HttpBearer

from kernel.clock import db_now, read_now
from kernel.errors import Forbidden, Unauthenticated
from teams.models import ApiKey

KEY_PREFIX = "ctxb_"
PREFIX_LENGTH = len(KEY_PREFIX) + 8
# Every key of a project may look at it, except one that only approves.
READERS = ("read", "agent", "manage")
_KEY = re.compile(r"ctxb_[A-Za-z0-9]{40}")
# Knowing to the minute when a key was last used is enough, and spares a write per request.
_LAST_USED_PRECISION = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who stands behind a request, as far as the services need to know."""

    project_id: str
    team_id: str
    key_id: str
    key_prefix: str
    scopes: frozenset[str]
    user_id: int | None

    @property
    def actor(self) -> str:
        return f"key:{self.key_prefix}"

    def require(self, *scopes: str) -> None:
        """Any one of the scopes suffices."""
        if not self.scopes & set(scopes):
            names = " or ".join(scopes)
            raise Forbidden(
                f"This key lacks the scope {names}.", code="scope_missing", required_scope=scopes[0]
            )


class ApiRequest(HttpRequest):
    """A request that came through the door."""

    auth: Caller


def hash_secret(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


class ApiKeyAuth(HttpBearer):
    """Bearer ctxb_…; never from a cookie or the URL."""

    openapi_bearerFormat = "ctxb_"

    def __call__(self, request: HttpRequest) -> Caller:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated("Send `Authorization: Bearer ctxb_…` with an API key.")
        return self.authenticate(request, token.strip())

    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        caller = caller_for(token)
        if caller is None:
            raise Unauthenticated("That API key is not valid.")
        return caller


def caller_for(token: str) -> Caller | None:
    if not _KEY.fullmatch(token):
        return None
    row = (
        ApiKey.objects.filter(prefix=token[:PREFIX_LENGTH])
        .filter(Q(revoked_at=None) | Q(revoked_at__gt=db_now()))
        .values_list(
            "id", "secret_sha256", "scopes", "project_id", "project__team_id", "acts_for_id", "last_used_at"
        )
        .first()
    )
    if row is None or not hmac.compare_digest(row[1], hash_secret(token)):
        return None
    key_id, _, scopes, project_id, team_id, user_id, last_used_at = row
    _touch(key_id, last_used_at)
    return Caller(
        project_id=project_id,
        team_id=team_id,
        key_id=key_id,
        key_prefix=token[:PREFIX_LENGTH],
        scopes=frozenset(scopes),
        user_id=user_id,
    )


def _touch(key_id: str, last_used_at: datetime | None) -> None:
    if last_used_at is None or datetime.now(UTC) - last_used_at > _LAST_USED_PRECISION:
        ApiKey.objects.filter(pk=key_id).update(last_used_at=read_now())


api_key = ApiKeyAuth()
