"""Posts JSON to a model's endpoint: a deadline per attempt, few attempts, no redirects, a bounded answer."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2

from providers.errors import SummariserFailed
from providers.secrets import mask_secrets

MAX_ANSWER_BYTES = 4_000_000
# Timeouts and "try again": 408, 409 (lock), 425, 429, and every 5xx, Anthropic's 529 included.
RETRIED = {408, 409, 425, 429}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """`timeout_s` is for a whole attempt, however slowly its bytes arrive."""

    timeout_s: float = 60
    connect_timeout_s: float = 10
    attempts: int = 3
    backoff_s: float = 0.5
    longest_wait_s: float = 20
    sleep: Callable[[float], None] = time.sleep


@cache
def _trusted_certificates() -> ssl.SSLContext:
    """Read once: loading them takes 80 ms."""
    return httpx2.create_ssl_context()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Again:
    """An attempt that may be repeated, and how long the server wants us to wait."""

    reason: str
    detail: str
    wait_s: float | None = None


def post_json(
    url: str, *, headers: dict[str, str], body: dict[str, Any], limits: CallLimits
) -> dict[str, Any]:
    """The endpoint's JSON object, or SummariserFailed after the last attempt."""
    for attempt in range(1, limits.attempts + 1):
        outcome = _attempt(url, headers, body, limits)
        if not isinstance(outcome, _Again):
            return outcome
        wait_s = limits.backoff_s * 2 ** (attempt - 1) if outcome.wait_s is None else outcome.wait_s
        if attempt == limits.attempts or wait_s > limits.longest_wait_s:
            raise SummariserFailed(outcome.reason, outcome.detail)
        limits.sleep(wait_s)
    raise SummariserFailed("no_attempts")


def _attempt(
    url: str, headers: dict[str, str], body: dict[str, Any], limits: CallLimits
) -> dict[str, Any] | _Again:
    deadline = time.monotonic() + limits.timeout_s
    timeout = httpx2.Timeout(limits.timeout_s, connect=limits.connect_timeout_s)
    try:
        with (
            httpx2.Client(timeout=timeout, verify=_trusted_certificates(), follow_redirects=False) as client,
            client.stream("POST", url, headers=headers, json=body) as response,
        ):
            return _judged(response, _read(response, deadline))
    except httpx2.TimeoutException as error:
        return _Again(reason="timeout", detail=type(error).__name__)
    except httpx2.TransportError as error:
        return _Again(reason="unreachable", detail=type(error).__name__)
    except (httpx2.InvalidURL, httpx2.DecodingError) as error:
        raise SummariserFailed("bad_endpoint", type(error).__name__) from None


def _read(response: httpx2.Response, deadline: float) -> bytes:
    """The body; a server that drips bytes runs into the deadline, one that floods into the limit."""
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise SummariserFailed("answer_too_large")
        if time.monotonic() > deadline:
            raise httpx2.ReadTimeout("the answer took too long")
    return bytes(body)


def _judged(response: httpx2.Response, content: bytes) -> dict[str, Any] | _Again:
    status = response.status_code
    if status in RETRIED or status >= 500:
        reason = "rate_limited" if status == 429 else "unavailable"
        return _Again(reason=reason, detail=_excerpt(status, content), wait_s=_retry_after(response))
    if status != 200:
        raise SummariserFailed("refused_request", _excerpt(status, content))
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return _Again(reason="bad_json", detail=_excerpt(status, content))
    if not isinstance(answer, dict):
        raise SummariserFailed("bad_json", _excerpt(status, content))
    if answer.get("error"):
        raise SummariserFailed("error_text", _excerpt(status, content))
    return answer


def _retry_after(response: httpx2.Response) -> float | None:
    """Seconds; the header's other form, a date, is left to our own back-off."""
    value = response.headers.get("retry-after", "").strip()
    return float(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


def _excerpt(status: int, content: bytes) -> str:
    """What people may read of a bad answer: short, and without keys that servers like to repeat."""
    masked, _ = mask_secrets(content[:300].decode("utf-8", "replace"))
    return f"HTTP {status}: {masked}"
