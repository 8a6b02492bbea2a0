"""Database time: the one clock that decides every lease, expiry and budget window."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import DateTimeField, Func

# Moved only by tests; production code reads it and never writes it.
_test_offset = timedelta(0)


class DbNow(Func):
    """SQL expression for the present moment, plus the test offset."""

    template = "%(expressions)s"
    output_field = DateTimeField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, tuple[str]]:
        # Six digits, so that text comparison with Django's stored datetimes is exact.
        sql = "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %s) || '000'"
        return sql, (f"{_test_offset.total_seconds():+.3f} seconds",)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, tuple[timedelta]]:
        return "(clock_timestamp() + %s)", (_test_offset,)


def db_now() -> DbNow:
    return DbNow()


def read_now() -> datetime:
    """The database's present moment, as an aware UTC datetime."""
    if connection.vendor == "sqlite":
        # The embedded database runs in this process: its clock is ours.
        return datetime.now(UTC) + _test_offset
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return shifted(moment)


def shifted(moment: datetime) -> datetime:
    """A moment that the database's own clock told, in UTC, plus the test offset."""
    return moment.astimezone(UTC) + _test_offset


def process_seconds() -> float:
    """This process's own clock, for caches; it moves with the test offset, and decides nothing."""
    return time.time() + _test_offset.total_seconds()


def set_test_offset(offset: timedelta) -> None:
    global _test_offset
    _test_offset = offset
