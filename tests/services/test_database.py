"""Which database this run is on: a run on Postgres that silently fell back to SQLite proves nothing."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import connection

from tests.plugin import chosen_database

VENDORS = {"sqlite": "sqlite", "postgres": "postgresql"}


@pytest.mark.django_db
def test_it_runs_on_the_database_that_was_asked_for() -> None:
    assert connection.vendor == VENDORS[chosen_database()]
    with connection.cursor() as cursor:
        cursor.execute("SELECT version()" if connection.vendor == "postgresql" else "SELECT sqlite_version()")
        assert cursor.fetchone()[0]


@pytest.mark.django_db
def test_it_runs_on_a_database_made_for_the_tests() -> None:
    assert "test" in str(connection.settings_dict["NAME"]).rsplit("/", 1)[-1]


def test_it_has_a_redis_exactly_when_it_has_postgres() -> None:
    assert bool(settings.REDIS_URL) == (chosen_database() == "postgres")


@pytest.mark.django_db
def test_it_commits_safely_on_sqlite() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("SQLite's own settings")
    with connection.cursor() as cursor:
        pragmas = {
            name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        }
    # 2 is FULL: a commit that was answered survives a power cut.
    assert pragmas == {"journal_mode": "wal", "synchronous": 2}
