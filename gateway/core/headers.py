"""Which headers pass in which direction: all of them, but for the connection's own, ours and the keys."""

from __future__ import annotations

from collections.abc import Iterable

Headers = list[tuple[bytes, bytes]]

# Headers of one connection, not of the message (RFC 9110, 7.6.1).
_HOP_BY_HOP = {
    b"connection",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
}
_KEYS = {b"authorization", b"x-api-key", b"api-key"}
_OWN_VALUES = {b"host", b"accept-encoding", b"content-length", b"expect"}
_OURS = b"x-ctxbudget-"


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """The first header of that name, empty when there is none."""
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), "")


def caller_key(headers: Headers) -> str:
    """The ctxbudget key, from either place where an SDK puts its key."""
    scheme, _, bearer = header(headers, b"authorization").partition(" ")
    candidates = [header(headers, b"x-api-key"), bearer.strip() if scheme.lower() == "bearer" else ""]
    given = [key for key in candidates if key]
    return next((key for key in given if key.startswith("ctxb_")), given[0] if given else "")


def to_upstream(
    headers: Headers, *, host: bytes, length: int, credential: tuple[bytes, bytes] | None
) -> Headers:
    """The caller's headers with the upstream's key in place of the caller's."""
    dropped = _HOP_BY_HOP | _KEYS | _OWN_VALUES | _named_by_connection(headers)
    passed = [
        (name, value)
        for name, value in headers
        if name.lower() not in dropped and not name.lower().startswith(_OURS)
    ]
    # Only what we can read on its way past; the bytes of the answer are passed on as they come.
    encoding = b"gzip" if "gzip" in header(headers, b"accept-encoding").lower() else b"identity"
    added = [(b"host", host), (b"accept-encoding", encoding), (b"content-length", b"%d" % length)]
    return [*added, *passed, *([credential] if credential else [])]


def to_client(headers: Headers) -> Headers:
    dropped = _HOP_BY_HOP | _named_by_connection(headers)
    return [(name.lower(), value) for name, value in headers if name.lower() not in dropped]


def _named_by_connection(headers: Headers) -> set[bytes]:
    named = header(headers, b"connection").lower()
    return {part.strip().encode("latin-1") for part in named.split(",") if part.strip()}
