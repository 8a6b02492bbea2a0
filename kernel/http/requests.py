"""What travels beside a request: its id, and preconditions."""

from __future__ import annotations

import re

from django.http import HttpRequest

from kernel.errors import PreconditionFailed, PreconditionMissing
from kernel.ids import new_id

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def request_id_of(request: HttpRequest) -> str:
    existing: str | None = getattr(request, "ctxbudget_request_id", None)
    if existing is not None:
        return existing
    given = request.headers.get("X-Request-Id", "")
    chosen = given if _REQUEST_ID.fullmatch(given) else new_id("req")
    request.ctxbudget_request_id = chosen  # type: ignore[attr-defined]
    return chosen


def require_match(request: HttpRequest, etag: str) -> None:
    """Refuses a change that does not say which version it changes, or names an old one."""
    given = request.headers.get("If-Match")
    if given is None:
        raise PreconditionMissing(f"Send If-Match with the ETag you read (now {etag}).")
    if not {tag.strip() for tag in given.split(",")} & {etag, "*"}:
        raise PreconditionFailed(f"You read {given}, but it is {etag} now; read again and retry.", etag=etag)
