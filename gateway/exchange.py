"""One request and its answer, as ASGI carries them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any

from gateway.core.headers import Headers, header
from gateway.errors import ClientGone
from kernel.errors import TooLarge

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# What Anthropic takes; OpenAI takes less of text and as much of pictures.
MAX_BODY_BYTES = 32 * 1024 * 1024


class Exchange:
    """Reads the request, writes the answer, notices when the caller hangs up."""

    def __init__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope["query_string"]
        self.headers: Headers = list(scope["headers"])
        self.started = False
        self._receive, self._send = receive, send

    def header(self, name: bytes) -> str:
        return header(self.headers, name)

    async def body(self) -> bytes:
        pieces, size, more = [], 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > MAX_BODY_BYTES:
                raise TooLarge(f"A request may have {MAX_BODY_BYTES // 1024**2} MB.")
            more = message.get("more_body", False)
        return b"".join(pieces)

    async def start(self, status: int, headers: Headers) -> None:
        self.started = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def piece(self, body: bytes) -> None:
        """Returns when the caller has room for more: a slow reader slows the upstream down."""
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self, body: bytes = b"") -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def unless_gone(self, work: Coroutine[Any, Any, None]) -> None:
        """Does the work, or stops it and raises ClientGone when the caller hangs up first."""
        task = asyncio.ensure_future(work)
        watch = asyncio.ensure_future(self._hung_up())
        watch.add_done_callback(lambda _: task.cancel())
        try:
            await task
        except asyncio.CancelledError:
            if watch.done() and not watch.cancelled():
                raise ClientGone from None
            raise
        finally:
            watch.cancel()

    async def _hung_up(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
