"""Request ids and metrics for everything, cookies and CSRF for pages only, a strict CSP for pages."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from ctxbudget_site.metrics import REQUEST_SECONDS
from kernel.errors import BadRequest, MethodNotAllowed, NotFound, TooLarge
from kernel.http.problems import problem_response
from kernel.http.requests import request_id_of
from kernel.http.strict_json import take_chunks

View = Callable[[HttpRequest], HttpResponse]

_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# django-unfold's Alpine needs eval and inline styles; only superusers see these pages.
_ADMIN_CSP = (
    "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"
)


class ContractMiddleware:
    """Gives every answer a request id, and API answers their shape even where no view was found."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = self._answer(request)
        response["X-Request-Id"] = request_id_of(request)
        REQUEST_SECONDS.labels(request.method, str(response.status_code)).observe(
            time.perf_counter() - started
        )
        return response

    def _answer(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith("/api/"):
            return self.get_response(request)
        try:
            request.get_host()
            take_chunks(request)
        except DisallowedHost:
            return problem_response(request, BadRequest("This server does not answer for that Host."))
        except TooLarge as problem:
            return problem_response(request, problem)
        if "\x00" in request.path_info:
            return problem_response(request, NotFound())
        response = self.get_response(request)
        if response.status_code == 405:
            return problem_response(request, _not_allowed(request, response))
        if response.status_code == 404 and response.headers.get("Content-Type", "").startswith("text/html"):
            return problem_response(request, NotFound())
        return response


def _not_allowed(request: HttpRequest, response: HttpResponse) -> MethodNotAllowed:
    allowed = response.headers.get("Allow", "")
    return MethodNotAllowed(
        f"{request.method} is not possible here, only {allowed}.", headers={"Allow": allowed}
    )


class BrowserOnlyMiddleware:
    """Runs session, CSRF and message middleware for pages; API requests pass straight through."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response
        self.browser_chain = get_response
        # Django calls process_view only on what stands in MIDDLEWARE; the CSRF check lives there.
        self.view_guards: list[Callable[..., HttpResponse | None]] = []
        for path in reversed(settings.BROWSER_MIDDLEWARE):
            self.browser_chain = import_string(path)(self.browser_chain)
            if hasattr(self.browser_chain, "process_view"):
                self.view_guards.insert(0, self.browser_chain.process_view)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith("/api/"):
            return self.get_response(request)
        return self.browser_chain(request)

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        if request.path_info.startswith("/api/"):
            return None
        refusals = (guard(request, *view) for guard in self.view_guards)
        return next((refusal for refusal in refusals if refusal is not None), None)


class ContentSecurityMiddleware:
    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        policy = _ADMIN_CSP if request.path_info.startswith("/admin/") else _CSP
        response.headers.setdefault("Content-Security-Policy", policy)
        response.headers.setdefault("Referrer-Policy", "same-origin")
        return response
