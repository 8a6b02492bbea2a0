"""How tests call the API: in process or over real HTTP, with the same verbs and the same answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import httpx2
from django.test import Client

BASE = "/api/v1"
NO_KEY = ""


class Answer(Protocol):
    """What both ways of calling give back."""

    status_code: int
    content: bytes
    headers: Mapping[str, str]

    def json(self) -> Any: ...


class Api:
    """Calls the API in this process; `key=NO_KEY` sends no Authorization header."""

    def __init__(self, *, key: str = NO_KEY) -> None:
        self.key = key
        self._client = Client(raise_request_exception=False)

    def get(self, path: str, **options: Any) -> Answer:
        return self.request("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.request("POST", path, body, **options)

    def put(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.request("PUT", path, body, **options)

    def patch(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.request("PATCH", path, body, **options)

    def delete(self, path: str, **options: Any) -> Answer:
        return self.request("DELETE", path, **options)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        """`body` is sent as JSON; `raw` sends these very bytes instead."""
        chosen = self.key if key is None else key
        sent = {"Authorization": f"Bearer {chosen}"} if chosen else {}
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        return self._send(method, BASE + path, content, content_type, {**sent, **(headers or {})})

    def _send(
        self, method: str, path: str, content: bytes, content_type: str, headers: Mapping[str, str]
    ) -> Answer:
        return self._client.generic(method, path, content, content_type, headers=dict(headers))  # type: ignore[return-value]


class LiveApi(Api):
    """Calls a running server over HTTP."""

    def __init__(self, *, url: str, key: str = NO_KEY) -> None:
        self.key = key
        self.url = url
        # One idle connection per client and no proxies from the environment: tests speak to loopback alone.
        self._http = httpx2.Client(base_url=url, timeout=60, trust_env=False)

    def _send(
        self, method: str, path: str, content: bytes, content_type: str, headers: Mapping[str, str]
    ) -> Answer:
        sent = {"Content-Type": content_type, **headers} if content else dict(headers)
        return self._http.request(method, path, content=content, headers=sent)
