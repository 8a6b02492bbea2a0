"""SQLite has one writer at a time; threads of a process wait for it in line instead of sleeping past it.

SQLite itself lets a waiting writer sleep and look again, so that the lock often lies idle and some waiters
come last again and again. The line is a courtesy: correctness rests on SQLite's own lock alone.
"""

from __future__ import annotations

import threading
from typing import Any

from django.db.backends.sqlite3 import base

_line = threading.Lock()


class DatabaseWrapper(base.DatabaseWrapper):
    """Takes its place before a transaction begins, and gives it back however the transaction ends."""

    _is_writer = False

    def _start_transaction_under_autocommit(self) -> None:
        if not self._is_writer:
            # Whoever waits too long tries without: SQLite answers as it would have.
            self._is_writer = _line.acquire(timeout=self.settings_dict["OPTIONS"].get("timeout", 5))
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._step_aside()
            raise

    def _commit(self) -> Any:
        try:
            return super()._commit()  # type: ignore[misc]
        finally:
            self._step_aside()

    def _rollback(self) -> Any:
        try:
            return super()._rollback()  # type: ignore[misc]
        finally:
            self._step_aside()

    def _close(self) -> Any:
        try:
            return super()._close()  # type: ignore[misc]
        finally:
            self._step_aside()

    def _step_aside(self) -> None:
        if self._is_writer:
            self._is_writer = False
            _line.release()
