"""Answers: plain JSON, JSON with an ETag, and pages of a list."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from kernel.errors import Invalid, NotFound

T = TypeVar("T")

MAX_PAGE = 200
DEFAULT_PAGE = 50


def reply(value: Any, *, status: int = 200, etag: str | None = None) -> HttpResponse:
    # ASCII output carries NUL and lone surrogates as escapes, so stored content returns unchanged.
    response = HttpResponse(
        json.dumps(value, separators=(",", ":")), status=status, content_type="application/json"
    )
    if etag is not None:
        response["ETag"] = etag
    return response


def reply_cached(request: HttpRequest, value: Any) -> HttpResponse:
    """An answer that a poller may have already: 304 when the caller's ETag still holds."""
    response = reply(value)
    etag = '"' + hashlib.sha256(response.content).hexdigest()[:32] + '"'
    known = _etags(request.headers.get("If-None-Match", ""))
    if etag in known or "*" in known:
        response = HttpResponse(status=304)
    response["ETag"] = etag
    return response


def _etags(header: str) -> list[str]:
    return [tag.strip().removeprefix("W/") for tag in header.split(",")]


def rfc3339(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def encode_cursor(value: str) -> str:
    return base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        decoded = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True).decode("utf-8")
    except (ValueError, UnicodeError):
        raise Invalid("That cursor was not made by this server.", code="invalid_cursor") from None
    if not decoded or not decoded.isprintable():
        raise Invalid("That cursor was not made by this server.", code="invalid_cursor")
    return decoded


def decode_number(cursor: str | None) -> int | None:
    """A cursor that stands for a number."""
    decoded = decode_cursor(cursor)
    if decoded is None:
        return None
    if not (decoded.isascii() and decoded.isdigit() and len(decoded) < 19):
        raise Invalid("That cursor was not made by this server.", code="invalid_cursor")
    return int(decoded)


def row_before(rows: QuerySet[Any], cursor: str | None) -> str | None:
    """The id that a cursor names; another list's or another tenant's leads nowhere."""
    named = decode_cursor(cursor)
    if named is not None and not rows.filter(pk=named).exists():
        raise NotFound()
    return named


def number_or_id(ref: str) -> dict[str, int | str]:
    """The filter that a `{n}` of a path stands for: a number or an id."""
    is_number = ref.isascii() and ref.isdigit() and len(ref) < 10
    return {"number": int(ref)} if is_number else {"pk": ref}


def page_of(
    rows: Sequence[T], *, limit: int, key: Callable[[T], str], shape: Callable[[T], Any]
) -> dict[str, Any]:
    """`rows` holds up to limit + 1 rows: the extra one only says that there is a next page."""
    shown = rows[:limit]
    following = encode_cursor(key(shown[-1])) if len(rows) > limit else None
    return {"items": [shape(row) for row in shown], "next": following}
