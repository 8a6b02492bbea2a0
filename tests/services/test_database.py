"""Which database this run is on: a run on Postgres that silently fell back to SQLite proves nothing."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from kernel.clock import read_now
from kernel.sqlite import base as sqlite
from teams.models import Team
from tests.plugin import chosen_database
from tests.proofs.racing import race

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


@pytest.mark.skipif(chosen_database() != "sqlite", reason="Postgres has many writers")
@pytest.mark.django_db(transaction=True)
def test_the_line_of_writers_moves_on_however_a_transaction_ends() -> None:
    with transaction.atomic():
        assert sqlite._line.locked()
    assert not sqlite._line.locked()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        raise ZeroDivisionError
    assert not sqlite._line.locked()
    with suppress(DatabaseError), transaction.atomic():
        connection.close()
    assert not sqlite._line.locked()


@pytest.mark.skipif(chosen_database() != "sqlite", reason="Postgres has many writers")
@pytest.mark.django_db(transaction=True)
def test_writers_of_a_process_wait_for_each_other_and_all_get_their_turn() -> None:
    Team.objects.create(id="team_line", name="line", created_at=read_now())

    def rename(number: int) -> None:
        with transaction.atomic():
            team = Team.objects.get(pk="team_line")
            team.name += f" {number}"
            team.save()

    race(40, rename)
    assert sorted(map(int, Team.objects.get(pk="team_line").name.split()[1:])) == list(range(40))
