"""Reads server-sent events on their way past: whole events out of whatever pieces the network made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

# An event is a few hundred bytes, with a picture some megabytes. What is longer is passed on unread.
MAX_EVENT_BYTES = 16 * 1024 * 1024


class EventReader:
    """Keeps only the event that is still incomplete."""

    def __init__(self) -> None:
        self._tail = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """The JSON objects that this piece completes."""
        lines = (self._tail + piece).split(b"\n")
        self._tail = lines.pop()
        for line in lines:
            event = self._line(line.rstrip(b"\r"))
            if event is not None:
                yield event
        if self._size + len(self._tail) > MAX_EVENT_BYTES:
            self._forget()

    def _line(self, line: bytes) -> dict[str, Any] | None:
        if line.startswith(b"data:"):
            self._data.append(line[5:])
            self._size += len(line)
        if line or not self._data:
            return None
        data = b"\n".join(self._data)
        self._data, self._size = [], 0
        return _json_object(data)

    def _forget(self) -> None:
        self._tail, self._data, self._size = b"", [], 0


def _json_object(data: bytes) -> dict[str, Any] | None:
    """None for what carries no object, such as OpenAI's closing [DONE]."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
