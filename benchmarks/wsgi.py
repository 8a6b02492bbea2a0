"""Calls the product's own WSGI application, and bare endpoints beside it with the same door and parser."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.http import HttpRequest
from ninja import NinjaAPI, Schema

from ctxbudget_site.urls import urlpatterns as site_urlpatterns
from kernel.clock import read_now
from kernel.http.strict_json import StrictJSONParser
from teams.auth import api_key
from teams.services import create_api_key, ensure_project

bare = NinjaAPI(parser=StrictJSONParser(), auth=api_key, urls_namespace="bare", docs_url=None)
_numbers = itertools.count(1)


class Total(Schema):
    total: int


class Anything(Schema):
    events: list[Any]


@bare.post("/echo")
def echo(request: HttpRequest, body: Total) -> dict[str, int]:
    return {"total": body.total}


@bare.post("/insert")
def insert(request: HttpRequest, body: Anything) -> dict[str, int]:
    """The least that an endpoint which stores something does: one SELECT and one INSERT."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT id FROM teams_project WHERE id = %s", [request.auth.project_id])  # type: ignore[attr-defined]
        cursor.fetchone()
        cursor.execute(
            "INSERT INTO kernel_processheartbeat (name, kind, seen_at) VALUES (%s, 'bench', %s)",
            [f"bench-{next(_numbers)}", connection.ops.adapt_datetimefield_value(read_now())],
        )
    return {"accepted": len(body.events)}


@cache
def application() -> Any:
    from django.urls import path

    # A list works where Django expects a module of URLs.
    settings.ROOT_URLCONF = tuple([*site_urlpatterns, path("api/bare/", bare.urls)])
    return get_wsgi_application()


@cache
def key() -> str:
    project = ensure_project(team_name="bench", project_name="bench")
    return create_api_key(project=project, scopes=["agent", "manage"]).secret


def caller(path: str, body: Callable[[], Any] | Any) -> Callable[[], Any]:
    """A function that posts once and returns the decoded answer; a callable body is asked every time."""
    return lambda: post(path, body() if callable(body) else body)


def post(path: str, body: Any) -> Any:
    content = json.dumps(body).encode()
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(content)),
        "HTTP_AUTHORIZATION": f"Bearer {key()}",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(content),
    }
    answered: list[str] = []
    response = application()(environ, lambda status, headers: answered.append(status))
    answer = b"".join(response)
    response.close()
    if not answered[0].startswith("2"):
        raise SystemExit(f"{path} answered {answered[0]}: {answer[:300]!r}")
    return json.loads(answer)
