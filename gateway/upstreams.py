"""The vendors' addresses and keys, from the configuration alone, and the connections to them."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpcore2
import httpx2
from django.conf import settings

from gateway.core.headers import Headers, to_upstream
from gateway.errors import NotConfigured, UpstreamLost, UpstreamSilent, UpstreamUnreachable

# As the vendors' own SDKs wait: ten minutes for the next byte.
READ_SECONDS = 600.0
CONNECT_SECONDS = 10.0
MAX_CONNECTIONS = 1000
# Shorter than the vendors keep an idle connection, so that none is used in the moment it is closed.
KEEPALIVE_SECONDS = 15.0
DEFAULT_ADDRESSES = {"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """One vendor's API. Its key is sent to it and shown to nobody."""

    vendor: str
    base_url: str
    api_key: str = field(repr=False)
    project_id: str = ""  # empty: of every project that has none of its own

    @property
    def host(self) -> bytes:
        return urlsplit(self.base_url).netloc.rpartition("@")[2].encode()

    @property
    def credential(self) -> tuple[bytes, bytes] | None:
        if not self.api_key:
            return None
        if self.vendor == "anthropic":
            return b"x-api-key", self.api_key.encode()
        return b"authorization", b"Bearer " + self.api_key.encode()

    def url(self, path: str, query: bytes) -> bytes:
        return (self.base_url + path).encode() + (b"?" + query if query else b"")


def configured_upstreams() -> list[Upstream]:
    given = {
        "openai": (settings.OPENAI_UPSTREAM, settings.OPENAI_API_KEY),
        "anthropic": (settings.ANTHROPIC_UPSTREAM, settings.ANTHROPIC_API_KEY),
    }
    found = [
        configured_upstream(
            vendor, address=addresses.get(project, ""), api_key=keys.get(project, ""), project_id=project
        )
        for vendor, (addresses, keys) in given.items()
        for project in sorted({*addresses, *keys})
    ]
    return [upstream for upstream in found if upstream is not None]


def configured_upstream(vendor: str, *, address: str, api_key: str, project_id: str = "") -> Upstream | None:
    """None where neither an address nor a key was given: this vendor is not offered."""
    if not address and not api_key:
        return None
    base = (address or DEFAULT_ADDRESSES[vendor]).rstrip("/").removesuffix("/v1")
    if urlsplit(base).scheme not in ("http", "https") or not urlsplit(base).hostname:
        raise ValueError(f"The upstream of {vendor} must be an http or https address.")
    return Upstream(vendor=vendor, base_url=base, api_key=api_key, project_id=project_id)


class GuardedNetwork(httpcore2.AnyIOBackend):
    """Connects to public addresses only, checked on the resolved address, unless told otherwise."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        if not self._allow_private:
            host = await _public_address(host, port)
        return await super().connect_tcp(host, port, timeout, local_address, socket_options)


async def _public_address(host: str, port: int) -> str:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore2.ConnectError(str(error)) from None
    addresses = [str(row[4][0]) for row in found]
    if not addresses or not all(_is_public(address) for address in addresses):
        raise httpcore2.ConnectError("the upstream's address is not public")
    return addresses[0]


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_global and not (mapped or ip).is_multicast


class Upstreams:
    """The connections of one process; no retry, no redirect, no proxy of the environment."""

    def __init__(self, known: Iterable[Upstream], *, allow_private: bool) -> None:
        self._known = {(upstream.vendor, upstream.project_id): upstream for upstream in known}
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False),
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=100,
            keepalive_expiry=KEEPALIVE_SECONDS,
            network_backend=GuardedNetwork(allow_private=allow_private),
        )

    def get(self, vendor: str, project_id: str) -> Upstream:
        """The project's own upstream, else everybody's."""
        upstream = self._known.get((vendor, project_id)) or self._known.get((vendor, ""))
        if upstream is None:
            raise NotConfigured(
                f"No upstream for {vendor}: the gateway's operator sets CTXBUDGET_{vendor.upper()}_API_KEY."
            )
        return upstream

    @asynccontextmanager
    async def ask(
        self, upstream: Upstream, *, method: str, path: str, query: bytes, headers: Headers, body: bytes
    ) -> AsyncIterator[httpcore2.Response]:
        """The upstream's answer while its body still comes; errors say whether it was ever reached."""
        request = httpcore2.Request(
            method,
            upstream.url(path, query),
            headers=to_upstream(
                headers, host=upstream.host, length=len(body), credential=upstream.credential
            ),
            content=body,
            extensions={"timeout": {"connect": CONNECT_SECONDS, "read": READ_SECONDS, "write": 60.0}},
        )
        try:
            response = await self._pool.handle_async_request(request)
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.UnsupportedProtocol):
            raise UpstreamUnreachable(
                f"The {upstream.vendor} upstream cannot be reached; nothing was sent."
            ) from None
        except _BROKEN as error:
            raise _problem(upstream.vendor, error) from None
        try:
            yield response
        except _BROKEN as error:
            raise _problem(upstream.vendor, error) from None
        finally:
            await response.aclose()

    async def close(self) -> None:
        await self._pool.aclose()


_BROKEN = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException)


def _problem(vendor: str, error: Exception) -> UpstreamLost | UpstreamSilent:
    if isinstance(error, httpcore2.TimeoutException):
        return UpstreamSilent(f"The {vendor} upstream was silent for too long.")
    return UpstreamLost(f"The {vendor} upstream broke the connection.")
