"""Runs database work beside the event loop: one writer with shared commits on SQLite, threads on Postgres."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import structlog
from django.db import close_old_connections, connection, transaction

log = structlog.get_logger(__name__)

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")

POSTGRES_THREADS = 8
# Whoever else writes to SQLite waits while a batch is written: some 2 ms for each piece of work.
MAX_BATCH = 16


class Store(Protocol):
    def run(self, work: Callable[[A], T], argument: A) -> asyncio.Future[T]:
        """The work in a transaction; the result is there when it is committed."""
        ...

    def run_after(self, first: Callable[[A], B], work: Callable[[B], T], argument: A) -> asyncio.Future[T]:
        """The same, on what `first` makes of the argument before the transaction begins."""
        ...

    def close(self) -> None:
        """Waits for what was begun."""
        ...


def open_store() -> Store:
    return SerialStore() if connection.vendor == "sqlite" else PooledStore()


def _as_it_is(argument: Any) -> Any:
    return argument


class PooledStore:
    """Every piece of work has a thread and a transaction of its own; Postgres joins their commits itself."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(POSTGRES_THREADS, thread_name_prefix="store")

    def run(self, work: Callable[[A], T], argument: A) -> asyncio.Future[T]:
        return self.run_after(_as_it_is, work, argument)

    def run_after(self, first: Callable[[A], B], work: Callable[[B], T], argument: A) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._threads, partial(_alone, first, work, argument))

    def close(self) -> None:
        self._threads.shutdown(wait=True)


def _alone(first: Callable[[A], B], work: Callable[[B], T], argument: A) -> T:
    close_old_connections()
    prepared = first(argument)
    with transaction.atomic():
        return work(prepared)


@dataclass(slots=True, kw_only=True)
class _Piece:
    """One piece of work in the queue, and what became of it."""

    first: Callable[[Any], Any]
    work: Callable[[Any], Any]
    value: Any
    future: asyncio.Future[Any]
    error: BaseException | None = None


class SerialStore:
    """SQLite has one writer: all that waits shares one transaction, so that the disk is waited for once."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[_Piece | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._write, name="store")
        self._thread.start()

    def run(self, work: Callable[[A], T], argument: A) -> asyncio.Future[T]:
        return self.run_after(_as_it_is, work, argument)

    def run_after(self, first: Callable[[A], B], work: Callable[[B], T], argument: A) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting.put(_Piece(first=first, work=work, value=argument, future=future))
        return future

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _write(self) -> None:
        going_on = True
        while going_on:
            batch = [self._waiting.get()]
            while len(batch) < MAX_BATCH and not self._waiting.empty():
                batch.append(self._waiting.get())
            pieces = [piece for piece in batch if piece is not None]
            going_on = len(pieces) == len(batch)
            _write_together(pieces)
            self._loop.call_soon_threadsafe(_answer, pieces)


def _write_together(pieces: list[_Piece]) -> None:
    close_old_connections()
    for piece in pieces:
        _try(piece, piece.first)
    committed: list[bool] = []
    try:
        with transaction.atomic():
            transaction.on_commit(lambda: committed.append(True))
            for piece in pieces:
                if piece.error is None:
                    _try(piece, transaction.atomic(piece.work))
    except Exception as error:
        if committed:
            # Only what was to follow the commit has failed; the work itself stands.
            log.exception("after a commit")
            return
        for piece in pieces:
            piece.error = piece.error or error


def _try(piece: _Piece, step: Callable[[Any], Any]) -> None:
    try:
        piece.value = step(piece.value)
    except Exception as error:
        piece.error = error


def _answer(pieces: list[_Piece]) -> None:
    for piece in pieces:
        if piece.future.done():
            continue
        if piece.error is not None:
            piece.future.set_exception(piece.error)
        else:
            piece.future.set_result(piece.value)
