"""A project that keeps numbers only: tokens, usage and hashes are kept, the words are in no table."""

from __future__ import annotations

import pytest

from sessions.models import AgentSession
from teams.models import Project
from tests.api.client import Api
from tests.proofs.test_p23_erase import CANARY, tables_with
from tests.session_calls import assistant, opened, record, say, tool_turn, usage, user, work_off

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(api: Api, project: Project) -> str:
    Project.objects.filter(pk=project.pk).update(content_policy=Project.Content.NUMBERS_ONLY)
    return opened(api, model="claude-3-opus", profile="stream-coding-agent", goal=f"Hide the {CANARY}")


def test_no_word_of_what_an_agent_sends_is_kept(api: Api, session: str) -> None:
    arguments = f'{{"file_path": "src/{CANARY}.py"}}'
    say(
        api,
        session,
        user(CANARY),
        assistant(CANARY),
        *tool_turn("c1", CANARY, name="Edit", arguments=arguments),
    )
    record(
        api,
        session,
        {"type": "dead_end", "description": CANARY},
        {"type": "note", "text": CANARY},
        usage(900, 10),
    )
    compacted_itself = {"type": "summary", "isSummary": True, "summary": CANARY}
    api.post(f"{session}/events", {"format": "claude-code", "events": [compacted_itself]})
    api.put(f"{session}/sections/working_state", {"content": CANARY})
    entry = api.post(f"{session}/memory", {"text": CANARY, "kind": "fact"}).json()["id"]
    api.patch(f"{session}/memory/{entry}", {"text": f"{CANARY} again"})
    api.post(f"{session}/scratch/dead-ends", {"description": CANARY})
    api.post(f"{session}/checkpoints", {"clear": True})
    work_off()
    assert tables_with(CANARY) == {}


def test_its_numbers_are_kept(api: Api, session: str) -> None:
    say(api, session, user("five small words of text"))
    api.post(f"{session}/memory", {"text": "a fact of some length", "kind": "fact"})
    record(api, session, usage(900, 10))
    row = AgentSession.objects.get()
    assert row.parts["user"] > 5 and row.parts["memory"] > 3
    assert (row.reported_prompt, row.turns) == (900, 1)
