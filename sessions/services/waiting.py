"""Long-polling: waits for something to be there without holding a database connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import connection

MAX_SECONDS = 25
_POLL_SECONDS = 0.5
# A quarter of the web process's threads at most wait; the others keep answering.
_waiters = threading.BoundedSemaphore(4)

T = TypeVar("T")


def wait_until(look: Callable[[], T], *, is_there: Callable[[T], bool], seconds: int) -> T:
    """What `look` finds as soon as it is there, or when the time is over, or at once when too many wait."""
    deadline = time.monotonic() + min(seconds, MAX_SECONDS)
    found = look()
    if is_there(found) or seconds <= 0 or not _waiters.acquire(blocking=False):
        return found
    try:
        while not is_there(found) and time.monotonic() < deadline:
            connection.close()
            time.sleep(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic())))
            found = look()
    finally:
        _waiters.release()
    return found
