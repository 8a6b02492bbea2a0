"""POST /budgets/calculate beside a bare endpoint with the same authentication, middleware and parser."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest
from ninja import NinjaAPI, Schema

from benchmarks.timing import cpu_seconds
from ctxbudget_site.urls import urlpatterns as site_urlpatterns
from kernel.http.strict_json import StrictJSONParser
from teams.auth import api_key
from teams.services import create_api_key, ensure_project

bare = NinjaAPI(parser=StrictJSONParser(), auth=api_key, urls_namespace="bare", docs_url=None)


class Total(Schema):
    total: int


@bare.post("/echo")
def echo(request: HttpRequest, body: Total) -> dict[str, int]:
    return {"total": body.total}


def rows() -> list[tuple[str, str, str, str]]:
    key = _make_key()
    bodies: dict[str, Any] = {
        "from a total": {"total": 6400},
        "from a model and a profile": {"model": "zai-glm-4.6", "profile": "long-story", "mode": "combat"},
    }
    application = _application_with_bare_endpoint()
    peer = cpu_seconds(_caller(application, "/api/bare/echo", key, {"total": 6400}), times=300)
    return [_row(application, key, name, body, peer) for name, body in bodies.items()]


def _row(application: Any, key: str, name: str, body: Any, peer: float) -> tuple[str, str, str, str]:
    ours = cpu_seconds(_caller(application, "/api/v1/budgets/calculate", key, body), times=300)
    work = f"POST /budgets/calculate {name}, CPU per request"
    return work, f"{ours * 1000:.2f} ms", f"bare endpoint {peer * 1000:.2f} ms", f"{ours / peer:.2f}"


def _make_key() -> str:
    project = ensure_project(team_name="bench", project_name="calculate")
    return create_api_key(project=project, scopes=["agent"]).secret


def _application_with_bare_endpoint() -> Any:
    from django.urls import path

    # A list works where Django expects a module of URLs.
    settings.ROOT_URLCONF = tuple([*site_urlpatterns, path("api/bare/", bare.urls)])
    return get_wsgi_application()


def _caller(application: Any, path: str, key: str, body: Any) -> Callable[[], None]:
    content = json.dumps(body).encode()
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(content)),
        "HTTP_AUTHORIZATION": f"Bearer {key}",
        "wsgi.url_scheme": "http",
    }

    def call() -> None:
        answered: list[str] = []
        response = application(
            {**environ, "wsgi.input": io.BytesIO(content)}, lambda status, headers: answered.append(status)
        )
        list(response)
        response.close()
        if answered != ["200 OK"]:
            raise SystemExit(f"{path} answered {answered}")

    return call
