"""P7: 2xx means committed: whatever is killed right after, the row is there, once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import httpx2
import pytest
from django.db import OperationalError, connection

from budgets.models import Balance, Hold, LedgerEntry
from kernel.faults import set_fault_hook
from tests.api.client import Api, LiveApi
from tests.api.money_calls import MoneyApi, money
from tests.money import books_balance
from tests.product_processes import start_web
from tests.proofs.racing import FULL

__all__ = ["books_balance", "money"]

KILLS = 6 if FULL else 1
SECONDS_BETWEEN = 2.5
CLIENTS = 4
LIMIT_NANO = 2 * 10**9
pytestmark = pytest.mark.django_db(transaction=True)


class Spender(threading.Thread):
    """Holds and settles without pause, and writes down every answer that it heard."""

    def __init__(
        self, *, key: str, session: str, address: Callable[[], str], stopped: threading.Event
    ) -> None:
        super().__init__(daemon=True)
        self.key, self.session, self.address, self.stopped = key, session, address, stopped
        self.settled: dict[str, str] = {}
        self.failures = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._spend()
        except BaseException as error:
            self.error = error

    def _spend(self) -> None:
        number = 0
        while not self.stopped.is_set():
            number += 1
            hold = self._insist(
                f"/sessions/{self.session}/holds", {"estimate": {"cost_usd": "0.001"}}, number
            )
            if hold is None:
                return
            answer = self._insist(f"/holds/{hold['id']}/settle", {"cost_usd": "0.001"}, number)
            if answer is not None:
                self.settled[hold["id"]] = answer["cost_usd"]

    def _insist(self, path: str, body: dict[str, object], number: int) -> dict[str, str] | None:
        """The same key until there is an answer: a killed server may or may not have done it."""
        headers = {"Idempotency-Key": f"{self.session}-{path[-6:]}-{number}"}
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(httpx2.HTTPError):
                answer = LiveApi(url=self.address(), key=self.key).post(path, body, headers=headers)
                if answer.status_code < 300:
                    found: dict[str, str] = answer.json()
                    return found
                if answer.status_code == 402:
                    return None
                assert answer.status_code in (429, 503), answer.content
            self.failures += 1
            time.sleep(0.05)
        raise AssertionError(f"no answer to {path}")


def test_killing_the_web_process_loses_and_doubles_nothing(money: MoneyApi) -> None:
    sessions = [money.open_session() for _ in range(CLIENTS)]
    money.cap("2")
    web, url = start_web()
    running, stopped = [(web, url)], threading.Event()
    clients = [
        Spender(key=money.agent.key, session=session, address=lambda: running[-1][1], stopped=stopped)
        for session in sessions
    ]
    for client in clients:
        client.start()
    try:
        for _ in range(KILLS):
            time.sleep(SECONDS_BETWEEN)
            running[-1][0].kill()
            running.append(start_web())
        time.sleep(SECONDS_BETWEEN)
    finally:
        stopped.set()
        for client in clients:
            client.join(timeout=90)
        running[-1][0].stop()
    assert_books(clients)
    assert sum(client.failures for client in clients) > 0, "the kill was not felt"


def test_killing_database_connections_loses_and_doubles_nothing(money: MoneyApi) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no backend process to kill.")
    sessions = [money.open_session() for _ in range(CLIENTS)]
    money.cap("2")
    web, url = start_web()
    stopped = threading.Event()
    clients = [
        Spender(key=money.agent.key, session=session, address=lambda: url, stopped=stopped)
        for session in sessions
    ]
    for client in clients:
        client.start()
    try:
        for _ in range(20 * KILLS):
            time.sleep(0.2)
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
    finally:
        stopped.set()
        for client in clients:
            client.join(timeout=90)
        web.stop()
    assert_books(clients)


def assert_books(clients: list[Spender]) -> None:
    """Every settlement that was answered is in the ledger, exactly once; the cap was not passed."""
    assert [client.error for client in clients] == [None] * len(clients)
    entries = Counter(LedgerEntry.objects.values_list("hold_id", flat=True))
    answered = {hold for client in clients for hold in client.settled}
    assert answered, "nothing was answered at all"
    assert answered - entries.keys() == set()
    assert set(entries.values()) == {1}
    balance = Balance.objects.get()
    assert balance.settled_nano + balance.reserved_nano <= LIMIT_NANO
    assert balance.settled_nano == 10**6 * len(entries)


@pytest.mark.parametrize("point", ["hold.commit.before", "settle.commit.before"])
def test_a_crash_just_before_the_commit_leaves_nothing_and_the_retry_succeeds(
    money: MoneyApi, point: str
) -> None:
    session = money.open_session()
    money.cap("1", session=session)
    first = money.hold(session, "0.5").json()["id"]

    def crash(reached: str) -> None:
        if reached == point:
            raise RuntimeError(point)

    def act() -> int:
        headers = {"Idempotency-Key": "once"}
        if point == "hold.commit.before":
            body = {"estimate": {"cost_usd": "0.2"}}
            return money.agent.post(f"/sessions/{session}/holds", body, headers=headers).status_code
        return money.agent.post(f"/holds/{first}/settle", {"cost_usd": "0.4"}, headers=headers).status_code

    before = _figures()
    set_fault_hook(crash)
    try:
        assert act() == 500
    finally:
        set_fault_hook(None)
    assert _figures() == before
    assert act() in (200, 201)
    assert _figures() != before


def _figures() -> tuple[int, int, int, int]:
    row = Balance.objects.get()
    return row.settled_nano, row.reserved_nano, Hold.objects.count(), LedgerEntry.objects.count()


def test_a_store_that_does_not_answer_is_503_and_admits_nothing(
    money: MoneyApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = money.open_session()

    def silent(*_: object, **__: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("budgets.services.admission_sql.limits_at", silent)
    answer = Api(key=money.agent.key).post(f"/sessions/{session}/holds", {"estimate": {"cost_usd": "1"}})
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert not Hold.objects.exists()
