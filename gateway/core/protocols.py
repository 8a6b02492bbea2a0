"""The three ways of asking a model that are budgeted, and what is passed through beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.core.listening import ChatListener, Listener, MessagesListener, ResponsesListener
from gateway.core.requests import Body, ModelRequest, read_chat, read_messages, read_responses

PREFIX = "/gateway/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """`format` names the adapter that reads its messages and usage."""

    vendor: str
    format: str
    read: Callable[[Body], ModelRequest]
    listener: Callable[[], Listener]


PROTOCOLS = {
    ("openai", "/v1/chat/completions"): Protocol(
        vendor="openai", format="openai", read=read_chat, listener=ChatListener
    ),
    ("openai", "/v1/responses"): Protocol(
        vendor="openai", format="responses", read=read_responses, listener=ResponsesListener
    ),
    ("anthropic", "/v1/messages"): Protocol(
        vendor="anthropic", format="anthropic", read=read_messages, listener=MessagesListener
    ),
}
VENDORS = ("openai", "anthropic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a request goes; without a protocol it is passed through and costs nothing."""

    vendor: str
    path: str
    protocol: Protocol | None


def route_of(method: str, path: str) -> Route | None:
    vendor, _, rest = path.removeprefix(PREFIX).partition("/")
    if not path.startswith(PREFIX) or vendor not in VENDORS:
        return None
    rest = "/" + rest
    protocol = PROTOCOLS.get((vendor, rest))
    if protocol is not None and method == "POST":
        return Route(vendor=vendor, path=rest, protocol=protocol)
    if _is_free(method, vendor, rest):
        return Route(vendor=vendor, path=rest, protocol=None)
    return None


def _is_free(method: str, vendor: str, path: str) -> bool:
    if method == "POST":
        return (vendor, path) == ("anthropic", "/v1/messages/count_tokens")
    names_a_model = path.startswith("/v1/models/") and ".." not in path
    return method == "GET" and (path == "/v1/models" or names_a_model)
