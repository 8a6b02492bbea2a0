"""P8: sequence numbers have no gaps, their order is the order of commits, bodies come back byte for byte."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions.models import Message
from tests.api.client import Api, LiveApi
from tests.proofs.racing import FULL, race
from tests.session_calls import opened, originals, record, row_of, user

APPENDERS = 50
BATCHES = 8 if FULL else 2

# Any text that a client can spell: NUL, lone surrogates and everything outside the basic plane.
TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
CONTENT = st.one_of(TEXT, st.lists(st.builds(lambda text: {"type": "text", "text": text}, TEXT), max_size=3))


@pytest.mark.django_db(transaction=True)
def test_p8_parallel_appenders_leave_no_gap_and_keep_the_order_of_commits(live_api: LiveApi) -> None:
    session = opened(live_api)

    def append(number: int) -> list[list[int]]:
        api = LiveApi(url=live_api.url, key=live_api.key)
        return [_appended(api, session, number, batch) for batch in range(BATCHES)]

    answered = list(itertools.chain.from_iterable(race(APPENDERS, append)))
    total = APPENDERS * BATCHES * 2
    assert sorted(seq for batch in answered for seq in batch) == list(range(1, total + 1))
    # What one request appended stands together: nobody else committed between its messages.
    assert all(second == first + 1 for first, second in answered)
    rows = originals(live_api, session)
    assert [row["seq"] for row in rows] == list(range(1, total + 1))
    times = list(
        Message.objects.filter(session=row_of(session)).order_by("seq").values_list("created_at", flat=True)
    )
    assert times == sorted(times)
    assert row_of(session).head_seq == total


def _appended(api: Api, session: str, number: int, batch: int) -> list[int]:
    events = [{"type": "message", "message": user(f"{number}/{batch}/{place}")} for place in range(2)]
    answer = record(api, session, *events)
    return [row["seq"] for row in answer["results"]]


@pytest.mark.django_db(transaction=True)
def test_p8_each_appender_finds_its_own_order(live_api: LiveApi) -> None:
    session = opened(live_api)

    def append(number: int) -> None:
        api = LiveApi(url=live_api.url, key=live_api.key)
        for batch in range(3):
            _appended(api, session, number, batch)

    race(8, append)
    said: dict[str, list[str]] = {}
    for row in originals(live_api, session):
        number, _, rest = row["message"]["content"].partition("/")
        said.setdefault(number, []).append(rest)
    assert all(order == sorted(order) and len(order) == 6 for order in said.values())


@pytest.mark.django_db
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(CONTENT, min_size=1, max_size=5))
def test_p8_bodies_come_back_as_they_were_sent(api: Api, contents: list[Any]) -> None:
    session = opened(api)
    record(api, session, *({"type": "message", "message": user(content)} for content in contents))
    assert [row["message"]["content"] for row in originals(api, session)] == contents
