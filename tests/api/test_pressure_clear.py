"""POST /sessions/{id}/pressure/clear: latched flags go one by one."""

from __future__ import annotations

import pytest

from tests.api.client import Api
from tests.session_calls import opened, record, usage

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(api: Api) -> str:
    """Above both thresholds of an agent that compacts itself."""
    path = opened(api, model="claude-3-opus", profile="stream-coding-agent")
    record(api, path, usage(160_000))
    return path


def test_one_flag_is_cleared_and_the_other_stays(api: Api, session: str) -> None:
    answer = api.post(f"{session}/pressure/clear", {"flags": ["compact"]})
    assert answer.status_code == 200
    assert answer.json()["flags"] == {"warning": True, "compact": False}
    assert api.get(f"{session}/budget").json()["flags"] == answer.json()["flags"]


def test_a_flag_still_above_latches_again_at_the_next_result(api: Api, session: str) -> None:
    api.post(f"{session}/pressure/clear", {"flags": ["warning", "compact"]})
    assert record(api, session, usage(161_000))["budget"]["flags"] == {"warning": True, "compact": True}


def test_an_unknown_flag_is_refused_and_changes_nothing(api: Api, session: str) -> None:
    answer = api.post(f"{session}/pressure/clear", {"flags": ["warning", "panic"]})
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_flag")
    assert api.get(f"{session}/budget").json()["flags"] == {"warning": True, "compact": True}
