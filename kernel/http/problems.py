"""Errors as application/problem+json: never HTML, never a stack trace."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja.errors import AuthenticationError, HttpError, ValidationError

from kernel.errors import BadRequest, FieldProblem, Invalid, ProblemError, Unauthenticated
from kernel.http.requests import request_id_of

_TYPE_BASE = "urn:ctxbudget:problem:"


def problem_response(request: HttpRequest, problem: ProblemError) -> HttpResponse:
    body: dict[str, Any] = {
        "type": _TYPE_BASE + problem.code,
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
        "request_id": request_id_of(request),
        "errors": [{"pointer": error.pointer, "detail": error.detail} for error in problem.errors],
    }
    body.update({key: value for key, value in problem.extra.items() if key not in body})
    response = HttpResponse(
        json.dumps(body, default=str), status=problem.status, content_type="application/problem+json"
    )
    for name, value in problem.headers.items():
        response[name] = value
    if problem.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def from_ninja(error: Exception) -> ProblemError:
    """What django-ninja raises, in our words."""
    if isinstance(error.__cause__, ProblemError):
        return error.__cause__
    if isinstance(error, ValidationError):
        return _from_validation(error)
    if isinstance(error, AuthenticationError):
        return Unauthenticated("Send `Authorization: Bearer ctxb_…` with a valid API key.")
    if isinstance(error, HttpError) and error.status_code == 400:
        return BadRequest(str(error))
    return Invalid(str(error))


def _from_validation(error: ValidationError) -> ProblemError:
    rows = error.errors
    fields = tuple(FieldProblem(pointer=_pointer(row["loc"]), detail=row["msg"]) for row in rows)
    code = _validation_code({row["type"] for row in rows})
    where = "; ".join(f"{field.pointer or 'the body'}: {field.detail}" for field in fields[:3])
    return Invalid(where, code=code, errors=fields[:50])


def _pointer(location: tuple[Any, ...]) -> str:
    # ninja's locations begin with ("body", <parameter name>) or ("query"|"path", …).
    parts = location[2:] if location and location[0] == "body" else location[1:]
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _validation_code(types: set[str]) -> str:
    if "extra_forbidden" in types:
        return "unknown_field"
    if types & {"string_unicode", "invalid_text"}:
        return "invalid_text"
    return "invalid"
