"""A readable copy of a compressed answer, piece by piece; the answer itself is passed on compressed."""

from __future__ import annotations

import zlib

# Accepts zlib's and gzip's own headers alike.
_ANY_HEADER = 32 + zlib.MAX_WBITS


class Decoder:
    """Encodings that we did not ask for yield nothing: the answer passes, its cost is estimated."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self._inflate = zlib.decompressobj(_ANY_HEADER) if self._encoding in ("gzip", "deflate") else None

    def decode(self, piece: bytes) -> bytes:
        if self._inflate is not None:
            try:
                return self._inflate.decompress(piece)
            except zlib.error:
                self._inflate, self._encoding = None, "broken"
        return piece if self._encoding in ("", "identity") else b""
