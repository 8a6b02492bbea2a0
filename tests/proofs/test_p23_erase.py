"""P23: after erasing a session no word of it stands in any table; the amounts do."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from budgets.models import LedgerEntry
from kernel.models import Job
from sessions.models import AgentSession, ArchiveDocument, Turn
from sessions.services import erasure
from sessions.services.archive import index_up_to
from sessions.services.frames import frame_of
from teams.models import AuditEvent, Project, Webhook
from tests.api.client import Api
from tests.conftest import Clock
from tests.proofs.racing import race
from tests.session_calls import (
    assistant,
    compacted,
    context,
    opened,
    record,
    row_of,
    say,
    turns,
    usage,
    user,
    work_off,
)

CANARY = "canary7f3a"
pytestmark = pytest.mark.django_db


def tables_with(word: str) -> dict[str, int]:
    """Every table that holds the word in any column of any row, and in how many rows."""
    found: dict[str, int] = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            hits = sum(any(word in _text(value) for value in row) for row in cursor.fetchall())
            if hits:
                found[table] = hits
    return found


def _text(value: Any) -> str:
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    return str(value)


def lived_in(api: Api, manager: Api, project: Project) -> str:
    """A session with the canary in everything that takes words."""
    Webhook.objects.create(
        id="hook_1", project=project, url="https://hooks.example.org/x", created_at=project.created_at
    )
    session = opened(
        api,
        external_id=f"ext-{CANARY}",
        task=f"task {CANARY}",
        goal=f"goal {CANARY}",
        metadata={"who": CANARY, CANARY: 1},
        scratch_path=f"/{CANARY}/scratch.md",
    )
    api.put(f"{session}/sections/working_state", {"content": f"state {CANARY}"})
    api.post(f"{session}/memory", {"text": f"memory {CANARY}", "key": CANARY})
    call = {"id": f"c-{CANARY}", "type": "function", "function": {"name": "cat", "arguments": CANARY}}
    say(
        api,
        session,
        user(f"My name is {CANARY}."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
    )
    say(api, session, {"role": "tool", "tool_call_id": f"c-{CANARY}", "content": CANARY}, *turns(30))
    say(api, session, assistant(f"We decided to keep {CANARY}."), user(f"pinned {CANARY}"), pinned=True)
    record(
        api,
        session,
        {"event_id": f"e-{CANARY}", "type": "note", "text": CANARY},
        {"type": "state_change", "previous": CANARY, "new": CANARY},
        {"type": "dead_end", "description": f"tried {CANARY}"},
        {"type": "moon", "phase": CANARY},
        usage(5000, 70),
    )
    api.post(f"{session}/context", {"query": CANARY}, headers={"Idempotency-Key": "ctx"})
    api.post(f"/sessions/ext:ext-{CANARY}/context", {"query": CANARY}, headers={"Idempotency-Key": "ext"})
    compacted(api, session)
    api.post(f"{session}/checkpoints", {"story": CANARY, "task": CANARY, "reason": CANARY, "clear": True})
    api.post(f"{session}/scratch/state-changes", {"previous": "", "new": CANARY})
    child = api.post(
        f"{session}/children", {"task": CANARY, "files": {CANARY: CANARY}, "expect": {"title": CANARY}}
    )
    assert child.status_code == 201, child.content
    answer = api.post(f"/sessions/{child.json()['id']}/result", {"result": {"notes": CANARY}})
    assert answer.status_code == 200, answer.content
    work_off()
    context(api, session, query=CANARY)
    return session


@pytest.fixture
def manager(manage_key: str) -> Api:
    return Api(key=manage_key)


def test_p23_no_word_is_left_in_any_table(api: Api, manager: Api, project: Project) -> None:
    session = lived_in(api, manager, project)
    before = row_of(session)
    assert len(tables_with(CANARY)) > 12
    answer = manager.post(f"{session}/erase", {}, headers={"Idempotency-Key": "gone"})
    assert answer.status_code == 200, answer.content
    assert len(answer.json()["sessions"]) == 2
    assert tables_with(CANARY) == {}
    row = row_of(session)
    assert row.state == "erased"
    for amount in ("turns", "input_tokens", "output_tokens", "spent_nano", "compactions", "head_seq"):
        assert getattr(row, amount) == getattr(before, amount)
    assert Turn.objects.filter(session=row).count() == 1
    assert LedgerEntry.objects.filter(session_id=row.pk).count() == 1
    assert AuditEvent.objects.filter(action="session.erased").count() == 2


def test_p23_an_erased_session_takes_nothing_more(api: Api, manager: Api, project: Project) -> None:
    session = lived_in(api, manager, project)
    manager.post(f"{session}/erase", {})
    answers = [
        api.post(f"{session}/events", {"events": [{"type": "note", "text": "x"}]}),
        api.post(f"{session}/context", {}),
        api.post(f"{session}/compact", {}),
        api.post(f"{session}/memory", {"text": "x"}),
    ]
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(409, "session_erased")}
    assert api.get(session).json()["state"] == "erased"
    assert api.get(f"{session}/messages").json()["items"] == []
    again = manager.post(f"{session}/erase", {})
    assert again.status_code == 200


def test_p23_an_agent_may_not_erase(api: Api) -> None:
    assert api.post(f"{opened(api)}/erase", {}).status_code == 403


def test_p23_a_fork_is_a_session_of_its_own(api: Api, manager: Api) -> None:
    session = opened(api)
    say(api, session, *turns(30))
    compacted(api, session)
    number = api.post(f"{session}/checkpoints", {}).json()["number"]
    fork = api.post(f"{session}/checkpoints/{number}/restore", {"mode": "fork"}).json()["session"]
    shown = context(api, f"/sessions/{fork}")["messages"]
    manager.post(f"{session}/erase", {})
    assert context(api, f"/sessions/{fork}")["messages"] == shown


def test_p23_work_that_was_under_way_writes_nothing_afterwards(api: Api, manager: Api) -> None:
    session = opened(api)
    say(api, session, user(f"{CANARY} " * 20), *turns(30))
    job_id = api.post(f"{session}/compact", {}).json()["job"]
    stale = row_of(session)
    manager.post(f"{session}/erase", {})
    index_up_to(stale, frame_of(stale), 10)
    work_off()
    assert Job.objects.get(pk=job_id).state == Job.State.CANCELLED
    assert not ArchiveDocument.objects.exists()
    assert tables_with(CANARY) == {}


@pytest.mark.django_db(transaction=True)
def test_p23_indexing_and_erasing_at_once_leave_nothing(api: Api, project: Project) -> None:
    session = opened(api)
    say(api, session, *(user(f"{CANARY} number {n}") for n in range(60)))
    row = row_of(session)

    def act(number: int) -> None:
        if number:
            index_up_to(row, frame_of(row), 60)
        else:
            erasure.erase_session(project_id=project.pk, ref=row.pk, actor="tester")

    race(3, act)
    assert tables_with(CANARY) == {}


def test_p23_retention_erases_what_is_too_old(api: Api, project: Project, clock: Clock) -> None:
    Project.objects.filter(pk=project.pk).update(retention_days=7)
    old = opened(api)
    say(api, old, user(f"old {CANARY}"))
    clock.advance(days=5)
    young = opened(api)
    say(api, young, user("young one"))
    clock.advance(days=3)
    erasure.erase_outdated_sessions()
    assert (row_of(old).state, row_of(young).state) == ("erased", "active")
    assert tables_with(CANARY) == {}


def test_p23_without_a_retention_everything_is_kept(api: Api, clock: Clock) -> None:
    session = opened(api)
    clock.advance(days=4000)
    erasure.erase_outdated_sessions()
    assert row_of(session).state == AgentSession.State.ACTIVE


def test_p23_the_proof_catches_a_forgotten_table(
    api: Api, manager: Api, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = lived_in(api, manager, project)
    kept = tuple(model for model in erasure._CONTENT if model.__name__ != "ScratchNote")
    monkeypatch.setattr(erasure, "_CONTENT", kept)
    manager.post(f"{session}/erase", {})
    assert list(tables_with(CANARY)) == ["agent_sessions_scratchnote"]
