"""The one NinjaAPI, and the one table from errors to HTTP."""

from __future__ import annotations

import structlog
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, AuthorizationError, HttpError, ValidationError

from analytics.api import router as analytics_router
from budgets.api import router as budgets_router
from budgets.core.errors import BudgetRuleError, NoInputRoom, PolicyInvalid
from kernel.errors import FieldProblem, Forbidden, Invalid, NotFound, ProblemError, TooLarge, Unavailable
from kernel.http.problems import from_ninja, problem_response
from kernel.http.strict_json import StrictJSONParser, body_too_large
from sessions.api import router as sessions_router
from teams.api import router as teams_router
from teams.auth import api_key

log = structlog.get_logger(__name__)

api = NinjaAPI(
    title="ctxbudget",
    version="1",
    description="Budgets for the context window and the money of LLM agents.",
    parser=StrictJSONParser(),
    auth=api_key,
    urls_namespace="api",
    docs_url="/docs",
)
api.add_router("", teams_router)
api.add_router("", budgets_router)
api.add_router("", sessions_router)
api.add_router("", analytics_router)


@api.exception_handler(ProblemError)
def _problem(request: HttpRequest, error: ProblemError) -> HttpResponse:
    return problem_response(request, error)


@api.exception_handler(ValidationError)
@api.exception_handler(AuthenticationError)
@api.exception_handler(HttpError)
def _framework(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem_response(request, from_ninja(error))


@api.exception_handler(AuthorizationError)
def _forbidden(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem_response(request, Forbidden(str(error)))


@api.exception_handler(Http404)
def _not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return problem_response(request, NotFound())


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return problem_response(request, body_too_large())


@api.exception_handler(BudgetRuleError)
def _rule(request: HttpRequest, error: BudgetRuleError) -> HttpResponse:
    status = TooLarge if isinstance(error, NoInputRoom) else Invalid
    found = error.problems if isinstance(error, PolicyInvalid) else [error] if error.pointer else []
    fields = tuple(FieldProblem(pointer=problem.pointer, detail=problem.detail) for problem in found)
    return problem_response(request, status(error.detail, code=error.code, errors=fields))


@api.exception_handler(OperationalError)
def _store_silent(request: HttpRequest, error: OperationalError) -> HttpResponse:
    log.warning("database did not answer", error=str(error))
    return problem_response(request, Unavailable("The store did not answer; nothing was changed. Try again."))


@api.exception_handler(Exception)
def _unexpected(request: HttpRequest, error: Exception) -> HttpResponse:
    log.exception("unexpected error", path=request.path, database=isinstance(error, DatabaseError))
    return problem_response(
        request, ProblemError("Something failed here; the request id finds it in the log.")
    )
