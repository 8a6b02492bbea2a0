"""GET /sessions/{id}/assemblies: the stored proofs."""

from __future__ import annotations

import pytest

from tests.api.client import Api
from tests.session_calls import context, opened, say, user

pytestmark = pytest.mark.django_db


def test_every_context_leaves_its_proof(api: Api) -> None:
    session = opened(api)
    say(api, session, user("hello"))
    reports = [context(api, session)["report"] for _ in range(3)]
    rows = api.get(f"{session}/assemblies?limit=2").json()
    assert [row["number"] for row in rows["items"]] == [3, 2] and rows["next"]
    one = api.get(f"{session}/assemblies/1").json()
    assert one["id"] == reports[0]["assembly"]
    assert one["report"]["tokens"] == reports[0]["tokens"]
    assert api.get(f"{session}/assemblies/{one['id']}").json() == one


@pytest.mark.parametrize("number", ["4", "0", "asm_unknown", "9" * 30])
def test_a_proof_that_was_never_made_is_not_found(api: Api, number: str) -> None:
    session = opened(api)
    assert api.get(f"{session}/assemblies/{number}").status_code == 404
