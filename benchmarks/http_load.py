"""A load generator that costs little itself: keep-alive connections that send one request over and over."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Latencies in milliseconds, sorted, and how many requests were answered per second."""

    latencies: list[float]
    per_second: float

    def percentile(self, percent: int) -> float:
        return self.latencies[min(len(self.latencies) - 1, len(self.latencies) * percent // 100)]


def measure(
    url: str, *, headers: dict[str, str], body: bytes, clients: int, requests: int, pause_s: float = 0
) -> Load:
    """`pause_s` lies between an answer and the client's next request."""
    return asyncio.run(_measure(url, _request(url, headers, body), clients, requests, pause_s))


def _request(url: str, headers: dict[str, str], body: bytes) -> bytes:
    parts = urlsplit(url)
    lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Length: {len(body)}"]
    lines += ["Content-Type: application/json", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def _measure(url: str, request: bytes, clients: int, requests: int, pause_s: float) -> Load:
    latencies: list[float] = []
    started = time.perf_counter()
    times = requests // clients
    await asyncio.gather(*(_client(url, request, times, pause_s, latencies) for _ in range(clients)))
    taken = time.perf_counter() - started
    return Load(latencies=sorted(latencies), per_second=len(latencies) / taken)


async def _client(url: str, request: bytes, times: int, pause_s: float, latencies: list[float]) -> None:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    for _ in range(times):
        started = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{url} answered {head[:200]!r}")
        await _read_body(reader, head.lower())
        latencies.append((time.perf_counter() - started) * 1000)
        await asyncio.sleep(pause_s)
    writer.close()


async def _read_body(reader: asyncio.StreamReader, head: bytes) -> None:
    _, found, rest = head.partition(b"content-length:")
    if found:
        await reader.readexactly(int(rest.partition(b"\r\n")[0]))
        return
    while size := int(await reader.readuntil(b"\r\n"), 16):
        await reader.readexactly(size + 2)
    await reader.readexactly(2)
