"""Where upstreams may be, and what it means when they cannot be reached."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from ctxbudget_site.checks import variables_are_known
from ctxbudget_site.settings import env_by_project
from gateway import upstreams
from gateway.errors import NotConfigured, UpstreamSilent, UpstreamUnreachable
from gateway.upstreams import Upstream, Upstreams, configured_upstream, configured_upstreams
from tests.gateway.fixtures import upstream, upstream_server
from tests.gateway.upstream import Upstream as LocalUpstream
from tests.services_processes import free_port

__all__ = ["upstream", "upstream_server"]


def ask(address: str, *, allow_private: bool) -> bytes:
    async def run() -> bytes:
        known = [Upstream(vendor="openai", base_url=address, api_key="k")]
        pool = Upstreams(known, allow_private=allow_private)
        try:
            async with pool.ask(
                known[0], method="GET", path="/v1/models", query=b"", headers=[], body=b""
            ) as response:
                return b"".join([piece async for piece in response.aiter_stream()])
        finally:
            await pool.close()

    return asyncio.run(run())


@pytest.mark.parametrize("allow_private", [False, True])
def test_a_private_upstream_must_be_allowed(upstream: LocalUpstream, allow_private: bool) -> None:
    if allow_private:
        assert b"gpt-4o" in ask(upstream.url, allow_private=True)
        return
    with pytest.raises(UpstreamUnreachable):
        ask(upstream.url, allow_private=False)
    assert upstream.asked == []


PRIVATE = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "0.0.0.0", "::1", "fe80::1%eth0"]
PRIVATE += ["fd00::1", "::ffff:127.0.0.1", "100.64.0.1", "224.0.0.1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_that_resolves_to_a_private_address_is_not_connected_to(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int, **_: Any) -> list[Any]:
        public = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", port))
        return [public, (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port))]

    connected = []

    async def connect(self: Any, host: str, *_: Any) -> None:
        connected.append(host)
        raise AssertionError("connected")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", lambda self, *a, **k: resolve(*a, **k))
    monkeypatch.setattr(upstreams.httpcore2.AnyIOBackend, "connect_tcp", connect)
    with pytest.raises(UpstreamUnreachable):
        ask("http://upstream.example", allow_private=False)
    assert connected == []


def test_the_address_that_was_checked_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", port))]

    connected = []

    async def connect(self: Any, host: str, *_: Any) -> None:
        connected.append(host)
        raise upstreams.httpcore2.ConnectError("far away")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", lambda self, *a, **k: resolve(*a, **k))
    monkeypatch.setattr(upstreams.httpcore2.AnyIOBackend, "connect_tcp", connect)
    with pytest.raises(UpstreamUnreachable):
        ask("http://upstream.example", allow_private=False)
    assert connected == ["93.184.215.14"]


def test_nobody_at_home_is_unreachable() -> None:
    with pytest.raises(UpstreamUnreachable):
        ask(f"http://127.0.0.1:{free_port()}", allow_private=True)


def test_an_upstream_that_says_nothing_is_given_up(
    upstream: LocalUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstreams, "READ_SECONDS", 0.2)
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, pytest.raises(UpstreamSilent):
        ask(f"http://127.0.0.1:{silent.getsockname()[1]}", allow_private=True)


@pytest.mark.parametrize(
    ("address", "key", "base_url"),
    [
        ("", "sk-1", "https://api.openai.com"),
        ("http://vllm:8000", "", "http://vllm:8000"),
        # With or without the version that the SDKs put into their base_url.
        ("https://proxy.example/openai/v1/", "sk-1", "https://proxy.example/openai"),
    ],
)
def test_addresses_and_keys_come_from_the_configuration(address: str, key: str, base_url: str) -> None:
    found = configured_upstream("openai", address=address, api_key=key)
    assert found is not None
    assert found.base_url == base_url
    assert "sk-1" not in repr(found)


def test_a_vendor_without_address_and_key_is_not_offered() -> None:
    assert configured_upstream("anthropic", address="", api_key="") is None
    with pytest.raises(NotConfigured, match="CTXBUDGET_ANTHROPIC_API_KEY"):
        Upstreams([], allow_private=False).get("anthropic", "proj_1")
    with pytest.raises(ValueError, match="http or https"):
        configured_upstream("openai", address="file:///etc/passwd", api_key="")


def test_a_project_may_have_its_own_upstream(settings: Any) -> None:
    settings.OPENAI_UPSTREAM = {"": "https://all.example", "proj_own": "https://own.example"}
    settings.OPENAI_API_KEY = {"": "sk-all", "proj_key": "sk-key"}
    settings.ANTHROPIC_UPSTREAM, settings.ANTHROPIC_API_KEY = {"": ""}, {"": "", "proj_own": "sk-ant"}
    pool = Upstreams(configured_upstreams(), allow_private=False)
    chosen = {name: pool.get("openai", name) for name in ("proj_own", "proj_key", "proj_other")}
    assert {name: (found.base_url, found.api_key) for name, found in chosen.items()} == {
        # Nobody's key goes to an address that it was not given for.
        "proj_own": ("https://own.example", ""),
        "proj_key": ("https://api.openai.com", "sk-key"),
        "proj_other": ("https://all.example", "sk-all"),
    }
    assert pool.get("anthropic", "proj_own").api_key == "sk-ant"
    with pytest.raises(NotConfigured):
        pool.get("anthropic", "proj_other")


def test_variables_of_projects_are_read_and_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXBUDGET_OPENAI_API_KEY__proj_1", "sk-1")
    monkeypatch.setenv("CTXBUDGET_OPENAI_API_KEY", "sk-0")
    assert env_by_project("OPENAI_API_KEY") == {"": "sk-0", "proj_1": "sk-1"}
    assert variables_are_known(None) == []
    monkeypatch.setenv("CTXBUDGET_REDIS_URL__proj_1", "x")
    assert [problem.id for problem in variables_are_known(None)] == ["ctxbudget.E002"]
