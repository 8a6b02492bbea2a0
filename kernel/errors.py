"""The base of every error that a caller may see.

ProblemError
├── BadRequest          400  malformed
├── Unauthenticated     401
├── PaymentRequired     402  money
├── Forbidden           403
├── NotFound            404
├── MethodNotAllowed    405
├── Conflict            409  state
├── PreconditionFailed  412
├── PreconditionMissing 428
├── TooLarge            413
├── UnsupportedMedia    415
├── Invalid             422
├── TooManyRequests     429
└── Unavailable         503
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """One field that is wrong: a JSON pointer and a sentence."""

    pointer: str
    detail: str


class ProblemError(Exception):
    """Anything that is answered with problem+json; `extra` becomes structured fields of the answer."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"
    code = "internal_error"

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        errors: tuple[FieldProblem, ...] = (),
        headers: dict[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.code
        self.errors = errors
        self.headers = headers or {}
        self.extra = extra


class BadRequest(ProblemError):
    status, title, code = 400, "Malformed request", "bad_request"


class Unauthenticated(ProblemError):
    status, title, code = 401, "Not authenticated", "unauthenticated"


class PaymentRequired(ProblemError):
    status, title, code = 402, "Cost cap reached", "cap_reached"


class Forbidden(ProblemError):
    status, title, code = 403, "Not allowed", "forbidden"


class NotFound(ProblemError):
    status, title, code = 404, "Not found", "not_found"

    def __init__(self, detail: str = "There is nothing here with that id.", **extra: Any) -> None:
        super().__init__(detail, **extra)


class MethodNotAllowed(ProblemError):
    status, title, code = 405, "Method not allowed", "method_not_allowed"


class Conflict(ProblemError):
    status, title, code = 409, "Conflicts with the present state", "conflict"


class PreconditionFailed(ProblemError):
    status, title, code = 412, "Changed in the meantime", "precondition_failed"


class PreconditionMissing(ProblemError):
    status, title, code = 428, "If-Match is required", "precondition_required"


class TooLarge(ProblemError):
    status, title, code = 413, "Too large", "too_large"


class UnsupportedMedia(ProblemError):
    status, title, code = 415, "Unsupported media type", "unsupported_media_type"


class Invalid(ProblemError):
    status, title, code = 422, "Invalid", "invalid"


class TooManyRequests(ProblemError):
    status, title, code = 429, "Too many requests", "rate_limited"


class Unavailable(ProblemError):
    status, title, code = 503, "Temporarily unavailable", "unavailable"
