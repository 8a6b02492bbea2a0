"""PUT /sessions/{id}/sections/{name}: texts that the agent owns."""

from __future__ import annotations

import pytest

from tests.api.client import Api
from tests.session_calls import context, opened, row_of, say, sent_text, user

pytestmark = pytest.mark.django_db


def test_a_section_is_sent_with_the_next_context_and_counted(api: Api) -> None:
    session = opened(api)
    say(api, session, user("hello"))
    answer = api.put(f"{session}/sections/working_state", {"content": "Two tests are red."})
    used = {row["name"]: row["used"] for row in answer.json()["budget"]["sections"]}
    assert answer.status_code == 200 and used["working_state"] > 0
    assert "Two tests are red." in sent_text(context(api, session))


def test_a_second_text_replaces_the_first_in_the_running_total(api: Api) -> None:
    session = opened(api)
    api.put(f"{session}/sections/goal", {"content": "long " * 100})
    api.put(f"{session}/sections/goal", {"content": "short"})
    api.put(f"{session}/sections/goal", {"content": ""})
    assert row_of(session).parts["sections"] == 0


def test_a_section_that_the_profile_does_not_know_is_refused(api: Api) -> None:
    answer = api.put(f"{opened(api)}/sections/surprise", {"content": "x"})
    assert answer.status_code == 422
    assert "surprise" in answer.json()["detail"]
