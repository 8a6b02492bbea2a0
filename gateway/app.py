"""The ASGI application: routes, answers to errors, and what runs as long as the process does."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog
from django.conf import settings
from django.db import DatabaseError

from budgets.tokens.vocabularies import encoding
from gateway.core.protocols import VENDORS, route_of
from gateway.errors import ClientGone
from gateway.exchange import Exchange, Message, Receive, Send
from gateway.passage import Passages, refuse, store_silent
from gateway.services import call_jobs, closing
from gateway.store import Store, open_store
from gateway.upstreams import Upstreams, configured_upstreams
from kernel.errors import NotFound, ProblemError

log = structlog.get_logger(__name__)


class Gateway:
    def __init__(self) -> None:
        self._passages: Passages | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(Exchange(scope, receive, send))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        # Today's models; the vocabulary of older ones is read when the first of them is asked.
        encoding("o200k_base")
        store = open_store()
        upstreams = Upstreams(configured_upstreams(), allow_private=settings.ALLOW_PRIVATE_ADDRESSES)
        self._passages = Passages(upstreams=upstreams, store=store)
        renewing = asyncio.ensure_future(_renew(self._passages, store))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        renewing.cancel()
        await upstreams.close()
        # Calls that have ended are still being settled.
        store.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.path == "/healthz":
            await exchange.start(200, [(b"content-type", b"text/plain")])
            return await exchange.end(b"ok\n")
        route = route_of(exchange.method, exchange.path)
        vendor = next((name for name in VENDORS if f"/{name}/" in exchange.path), "openai")
        try:
            if route is None:
                raise NotFound("The gateway has no such operation; docs/gateway.md lists them.")
            assert self._passages is not None
            if route.protocol is None:
                await self._passages.pass_through(exchange, route)
            else:
                await self._passages.model_call(exchange, route, route.protocol)
        except ClientGone:
            return None
        except ProblemError as problem:
            await _say(exchange, vendor, problem)
        except DatabaseError as error:
            log.warning("database did not answer", error=str(error))
            await _say(exchange, vendor, store_silent())
        except Exception:
            log.exception("unexpected error", path=exchange.path)
            await _say(exchange, vendor, ProblemError("Something failed in the gateway."))
        return None


async def _say(exchange: Exchange, vendor: str, problem: ProblemError) -> None:
    """Refuses, unless the answer has begun: then it breaks off, as the upstream's did."""
    if not exchange.started:
        with suppress(OSError):
            await refuse(exchange, vendor, problem)


async def _renew(passages: Passages, store: Store) -> None:
    """Says of every running call that its gateway is alive."""
    while True:
        await asyncio.sleep(call_jobs.RENEW_SECONDS)
        running = list(passages.open.values())
        if not running:
            continue
        try:
            passages.extended(await store.run(closing.keep_calls_open, running))
        except Exception as error:
            # The next round tries again; a lease lasts for three.
            log.warning("leases not renewed", error=type(error).__name__)
