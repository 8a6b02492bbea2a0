"""Our refusals in the words and shapes that each vendor's SDK understands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    409: "invalid_request_error",
    413: "request_too_large",
    415: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    502: "api_error",
    503: "api_error",
    504: "timeout_error",
}
_OPENAI_TYPES = {402: "insufficient_quota", 429: "requests", 500: "server_error", 502: "server_error"}
_OPENAI_TYPES |= {503: "server_error", 504: "server_error"}
# 409 is retried by both SDKs unless they are told not to; only waiting helps against these.
_WORTH_RETRYING = {429, 500, 502, 503, 504}


def refusal_body(
    vendor: str, *, status: int, message: str, code: str, request_id: str, figures: Mapping[str, Any]
) -> bytes:
    error: dict[str, Any] = {"message": message}
    if vendor == "anthropic":
        error["type"] = _ANTHROPIC_TYPES.get(status, "api_error")
        error["code"] = code
    else:
        error |= {"type": _OPENAI_TYPES.get(status, "invalid_request_error"), "param": None, "code": code}
    if figures:
        error["ctxbudget"] = dict(figures)
    body: dict[str, Any] = {"error": error}
    if vendor == "anthropic":
        body = {"type": "error", "error": error, "request_id": request_id}
    return json.dumps(body, default=str).encode()


def retry_headers(status: int) -> list[tuple[bytes, bytes]]:
    return [] if status in _WORTH_RETRYING else [(b"x-should-retry", b"false")]
