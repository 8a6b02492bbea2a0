"""Races on demand: many threads, each with its own database connection, released at one moment."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from django.db import connection

T = TypeVar("T")
FULL = os.environ.get("CTXBUDGET_PROOF") == "full"


def race(count: int, act: Callable[[int], T]) -> list[T]:
    """What each of `count` threads got from `act(its number)`; any exception fails the test."""
    start = threading.Barrier(count)
    results: list[T] = []
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            connection.ensure_connection()
            start.wait(timeout=60)
            results.append(act(number))
        except BaseException as error:
            errors.append(error)
            start.abort()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
