"""What the gateway adds to an answer: headers about session, budget and cost, and refusals of its own."""

from __future__ import annotations

import secrets

from gateway.core.headers import Headers
from gateway.core.refusals import refusal_body, retry_headers
from gateway.values import OpenCall
from kernel.errors import ProblemError
from kernel.http.schemas import usd


def call_headers(call: OpenCall, *, cost_nano: int | None, basis: str) -> Headers:
    """`basis` is reported, estimated, or held while the answer is still to come."""
    added = {
        "x-ctxbudget-session": call.session_id,
        "x-ctxbudget-session-source": call.session_source,
        "x-ctxbudget-budget": _budget(call),
        "x-ctxbudget-level": call.level,
        "x-ctxbudget-cost": usd(cost_nano) or "unpriced",
        "x-ctxbudget-cost-basis": basis,
    }
    if call.body is not None:
        added["x-ctxbudget-assembled"] = "true"
    return [(name.encode(), value.encode()) for name, value in added.items()]


def _budget(call: OpenCall) -> str:
    """A dictionary of RFC 8941: tokens of the session's context and, under a cap, what is left of it."""
    figures = [f"used={call.used}", f"total={call.total}", f"remaining={call.total - call.used}"]
    if call.remaining_nano is not None:
        figures.append(f'remaining-usd="{usd(call.remaining_nano)}"')
    return ", ".join(figures)


def refusal(vendor: str, problem: ProblemError) -> tuple[int, Headers, bytes]:
    request_id = f"req_{secrets.token_hex(12)}"
    body = refusal_body(
        vendor,
        status=problem.status,
        message=problem.detail,
        code=problem.code,
        request_id=request_id,
        figures=problem.extra,
    )
    headers: Headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"request-id", request_id.encode()),
        (b"x-request-id", request_id.encode()),
        *((name.lower().encode(), value.encode()) for name, value in problem.headers.items()),
    ]
    told = {name for name, _ in headers}
    headers += [entry for entry in retry_headers(problem.status) if entry[0] not in told]
    return problem.status, headers, body
