"""Runs database work beside the event loop, in a few threads that keep their connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from django.db import close_old_connections, connection

P = ParamSpec("P")
T = TypeVar("T")

# SQLite has one writer: a second thread would only wait for the first, in steps of a hundred milliseconds.
_THREADS = {"sqlite": 1, "postgresql": 8}


class Store:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS[connection.vendor], thread_name_prefix="store")

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._threads, partial(_with_live_connection, work, *args, **kwargs))

    def close(self) -> None:
        """Waits for what was begun."""
        self._threads.shutdown(wait=True)


def _with_live_connection(work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    close_old_connections()
    return work(*args, **kwargs)
