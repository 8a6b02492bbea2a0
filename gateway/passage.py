"""The way of one model call: money set aside, bytes passed through unchanged, money settled."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpcore2
import structlog

from gateway.answers import call_headers, refusal
from gateway.core.decoding import Decoder
from gateway.core.headers import Headers, caller_key, header, to_client
from gateway.core.protocols import Protocol, Route
from gateway.core.sse import EventReader
from gateway.errors import ClientGone, NotConfigured, UpstreamUnreachable
from gateway.exchange import Exchange
from gateway.services import closing, opening
from gateway.store import Store
from gateway.upstreams import Upstreams
from gateway.values import OpenCall, Wanted
from kernel.errors import BadRequest, ProblemError, Unavailable

log = structlog.get_logger(__name__)

Conversation = tuple[str, str]


class Passages:
    """All calls of this process that are under way."""

    def __init__(self, *, upstreams: Upstreams, store: Store) -> None:
        self.open: dict[str, OpenCall] = {}
        self._upstreams, self._store = upstreams, store
        self._closing: dict[Conversation, asyncio.Future[Any]] = {}

    async def pass_through(self, exchange: Exchange, route: Route) -> None:
        """What costs nothing: the key is checked, nothing is recorded."""
        caller = await self._store.run(opening.authenticated, caller_key(exchange.headers))
        body = await exchange.body()
        await exchange.unless_gone(self._pass_free(exchange, route, body, caller.project_id))

    async def _pass_free(self, exchange: Exchange, route: Route, body: bytes, project_id: str) -> None:
        async with self._ask(exchange, route, body, project_id) as response:
            await exchange.start(response.status, to_client(response.headers))
            async for piece in response.aiter_stream():
                await exchange.piece(piece)
            await exchange.end()

    async def model_call(self, exchange: Exchange, route: Route, protocol: Protocol) -> None:
        body = await exchange.body()
        wanted = _wanted(exchange, protocol, body)
        call = await self._opened(wanted)
        passage = _Passage(call)
        try:
            await exchange.unless_gone(self._pass_call(exchange, route, call.body or body, passage))
        except ClientGone:
            pass
        except (UpstreamUnreachable, NotConfigured) as problem:
            passage.status = problem.status
            raise
        finally:
            self._close(passage)

    async def _opened(self, wanted: Wanted) -> OpenCall:
        # A caller that goes on at once must not find its own last call still unsettled.
        before = self._closing.get(_conversation(wanted))
        if before is not None:
            await asyncio.wait([before])
        opened = await self._store.run_after(opening.prepare_call, opening.hold_call, wanted)
        if isinstance(opened, ProblemError):
            raise opened
        self.open[opened.job_id] = opened
        return opened

    async def _pass_call(self, exchange: Exchange, route: Route, body: bytes, passage: _Passage) -> None:
        project_id = passage.call.caller.project_id
        async with self._ask(exchange, route, body, project_id) as response:
            passage.status = response.status
            kind = header(response.headers, b"content-type")
            if response.status == 200 and kind.startswith("text/event-stream"):
                await _pass_stream(exchange, response, passage)
            else:
                await _pass_whole(exchange, response, passage)

    def _ask(self, exchange: Exchange, route: Route, body: bytes, project_id: str) -> Any:
        return self._upstreams.ask(
            self._upstreams.get(route.vendor, project_id),
            method=exchange.method,
            path=route.path,
            query=exchange.query,
            headers=exchange.headers,
            body=body,
        )

    def _close(self, passage: _Passage) -> None:
        """Begun at once and not waited for: the answer is on its way."""
        call = passage.call
        self.open.pop(call.job_id, None)
        if passage.is_free:
            ending: asyncio.Future[Any] = self._store.run(closing.void_call, call)
        else:
            ended = call, passage.listener.heard()
            ending = self._store.run_after(closing.prepare_close, closing.settle_call, ended)
        conversation = _conversation(call.wanted)
        self._closing[conversation] = ending
        ending.add_done_callback(lambda done: self._closed(conversation, done))

    def _closed(self, conversation: Conversation, done: asyncio.Future[Any]) -> None:
        if self._closing.get(conversation) is done:
            del self._closing[conversation]
        if not done.cancelled() and done.exception() is not None:
            # Its job is still there: when its lease ends, a worker closes the call.
            log.error("call not closed", error=type(done.exception()).__name__)

    def extended(self, calls_by_job: dict[str, OpenCall]) -> None:
        """Takes over the new ends of holds, of those calls that still run."""
        self.open.update({job: call for job, call in calls_by_job.items() if job in self.open})


class _Passage:
    """How far a call came."""

    def __init__(self, call: OpenCall) -> None:
        self.call = call
        self.listener = call.wanted.protocol.listener()
        self.status: int | None = None

    @property
    def is_free(self) -> bool:
        """Refused by the upstream, or never sent. What was sent and never answered may have been paid."""
        return self.status is not None and self.status >= 400


async def _pass_stream(exchange: Exchange, response: httpcore2.Response, passage: _Passage) -> None:
    call, listener = passage.call, passage.listener
    decoder, reader = Decoder(header(response.headers, b"content-encoding")), EventReader()
    added = call_headers(call, cost_nano=call.held_nano, basis="held")
    await exchange.start(response.status, [*to_client(response.headers), *added])
    async for piece in response.aiter_stream():
        for event in reader.feed(decoder.decode(piece)):
            listener.hear_event(event)
        await exchange.piece(piece)
    await exchange.end()


async def _pass_whole(exchange: Exchange, response: httpcore2.Response, passage: _Passage) -> None:
    body = b"".join([piece async for piece in response.aiter_stream()])
    added = _heard_whole(response, body, passage) if response.status < 400 else []
    await exchange.start(response.status, [*to_client(response.headers), *added])
    await exchange.end(body)


def _heard_whole(response: httpcore2.Response, body: bytes, passage: _Passage) -> Headers:
    answer = _json_object(Decoder(header(response.headers, b"content-encoding")).decode(body))
    if answer is not None:
        passage.listener.hear_body(answer)
    heard = passage.listener.heard()
    _, basis = closing.usage_of(passage.call, heard)
    return call_headers(passage.call, cost_nano=closing.cost_of(passage.call, heard), basis=basis)


def _wanted(exchange: Exchange, protocol: Protocol, body: bytes) -> Wanted:
    if exchange.header(b"content-encoding") not in ("", "identity"):
        raise BadRequest("Send the request uncompressed.", code="unsupported_encoding")
    asked = _json_object(body)
    if asked is None:
        raise BadRequest("The body must be a JSON object.", code="invalid_json")
    return Wanted(
        key=caller_key(exchange.headers),
        protocol=protocol,
        request=protocol.read(asked),
        session_ref=exchange.header(b"x-ctxbudget-session").strip(),
        beta=exchange.header(b"anthropic-beta"),
        asked=asked,
    )


def _conversation(wanted: Wanted) -> Conversation:
    return wanted.key, wanted.session_ref


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


async def refuse(exchange: Exchange, vendor: str, problem: ProblemError) -> None:
    status, headers, body = refusal(vendor, problem)
    await exchange.start(status, headers)
    await exchange.end(body)


def store_silent() -> Unavailable:
    return Unavailable("The store did not answer; nothing was sent to the model. Try again.")
