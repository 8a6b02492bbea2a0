"""GET /sessions/{id}/messages: the originals, archived ones included."""

from __future__ import annotations

import pytest

from tests.api.client import Api
from tests.session_calls import compacted, opened, originals, say, turns, user

pytestmark = pytest.mark.django_db


def test_bodies_come_back_unchanged_and_in_order(api: Api) -> None:
    bodies = [
        user("first"),
        user("NUL \x00 and \ud800"),
        {"role": "assistant", "content": ""},
    ]
    session = opened(api)
    say(api, session, *bodies)
    rows = originals(api, session)
    assert [row["message"] for row in rows] == bodies
    assert [row["seq"] for row in rows] == [1, 2, 3]
    assert all(row["tokens"] > 0 for row in rows)


def test_folded_messages_stay_readable_by_their_number(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(30))
    folded = compacted(api, session)
    (row,) = api.get(f"{session}/messages?seq={folded['to_seq']}").json()["items"]
    assert row["state"] == "summarised" and row["seq"] == folded["to_seq"]
    assert len(originals(api, session)) == 60


def test_a_search_finds_folded_messages_best_first(api: Api) -> None:
    session = opened(api)
    say(api, session, user("The code word is heliotrope."), *turns(30))
    compacted(api, session)
    items = api.get(f"{session}/messages?q=heliotrope&limit=3").json()["items"]
    assert items[0]["seq"] == 1


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=abc", "cursor=%00", "seq=0", "seq=1_0"])
def test_what_it_cannot_read_is_refused(api: Api, query: str) -> None:
    assert api.get(f"{opened(api)}/messages?{query}").status_code == 422
