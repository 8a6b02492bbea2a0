"""Which addresses this server may call on behalf of a tenant: public ones, judged by what they resolve to."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings


class AddressRefused(Exception):
    """The address is not one that a tenant may make this server call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A URL whose host is already resolved: the call goes to `address`, whatever the name says later."""

    url: str
    host: str
    address: str
    port: int


def public_target(url: str) -> Target:
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise AddressRefused("Only http and https addresses can be called.")
    if parts.scheme == "http" and not settings.ALLOW_PRIVATE_ADDRESSES:
        raise AddressRefused("Only https addresses can be called.")
    if parts.username or parts.password:
        raise AddressRefused("An address with a user name or password is not called.")
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError, UnicodeError):
        raise AddressRefused(f"{parts.hostname} cannot be resolved.") from None
    addresses = [str(row[4][0]) for row in found]
    for address in addresses:
        _refuse_private(address)
    return Target(url=url, host=parts.hostname, address=addresses[0], port=port)


def _refuse_private(address: str) -> None:
    """Every address of a name must be public: the one that is called is not ours to choose."""
    if settings.ALLOW_PRIVATE_ADDRESSES:
        return
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(ip, "ipv4_mapped", None)
    if not (mapped or ip).is_global or ip.is_multicast:
        raise AddressRefused(f"{address} is not a public address.")
