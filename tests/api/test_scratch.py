"""/sessions/{id}/scratch: the notebook, its four documents, and what the engine reports."""

from __future__ import annotations

import json

import pytest

from tests.api.client import Api
from tests.session_calls import assistant, opened, record, say, signal_kinds, tool_turn, user

pytestmark = pytest.mark.django_db

MARKDOWN = {"Accept": "text/markdown"}


@pytest.fixture
def session(api: Api) -> str:
    path = opened(api)
    say(api, path, user("Add a login page."), user([{"type": "text", "text": "With a logo."}]))
    call = {"file_path": "login.html", "content": "x"}
    say(api, path, *tool_turn("w1", "ok", name="Write", arguments=json.dumps(call)))
    record(api, path, {"type": "state_change", "previous": "PLAN", "new": "WORK"})
    record(api, path, {"type": "dead_end", "description": "The logo cannot be loaded."})
    return path


def test_the_index_is_markdown_or_json(api: Api, session: str) -> None:
    answer = api.get(f"{session}/scratch", headers=MARKDOWN)
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    body = api.get(f"{session}/scratch").json()
    assert body["markdown"] == answer.content.decode()
    assert [row["text"] for row in body["human_inputs"]] == ["Add a login page.", "With a logo."]
    assert [(row["previous"], row["new"]) for row in body["state_changes"]] == [("PLAN", "WORK")]
    assert [row["description"] for row in body["dead_ends"]] == ["The logo cannot be loaded."]
    assert body["artifacts"] == ["login.html"]


def test_tool_results_are_not_human_input(api: Api, session: str) -> None:
    assert "ok" not in [row["text"] for row in api.get(f"{session}/scratch").json()["human_inputs"]]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("human-input", "Add a login page."),
        ("state-changes", "PLAN → WORK"),
        ("dead-ends", "The logo cannot be loaded."),
        ("artifacts", "login.html"),
    ],
)
def test_every_section_has_a_document(api: Api, session: str, document: str, expected: str) -> None:
    body = api.get(f"{session}/scratch/{document}").json()
    assert expected in body["markdown"]
    assert api.get(f"{session}/scratch/{document}", headers=MARKDOWN).content.decode() == body["markdown"]


def test_there_is_no_fifth_document(api: Api, session: str) -> None:
    assert api.get(f"{session}/scratch/diary").status_code == 422


def test_the_documents_lead_to_the_originals(api: Api, session: str) -> None:
    seq = api.get(f"{session}/scratch").json()["human_inputs"][1]["seq"]
    assert f"## #{seq}" in api.get(f"{session}/scratch/human-input").json()["markdown"]
    (original,) = api.get(f"{session}/messages?seq={seq}").json()["items"]
    assert original["message"]["content"] == [{"type": "text", "text": "With a logo."}]


def test_notes_are_added_by_calls_too(api: Api, session: str) -> None:
    assert api.post(f"{session}/scratch/dead-ends", {"description": "Wrong port."}).status_code == 201
    assert (
        api.post(f"{session}/scratch/state-changes", {"previous": "WORK", "new": "TEST"}).status_code == 201
    )
    body = api.get(f"{session}/scratch").json()
    assert body["dead_ends"][-1]["description"] == "Wrong port."
    assert body["state_changes"][-1]["new"] == "TEST"
    assert signal_kinds(api, session).count("DEAD_END") == 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("dead-ends", {}),
        ("dead-ends", {"description": 5}),
        ("state-changes", {"previous": "a"}),
        ("state-changes", {"new": "a", "why": "b"}),
    ],
)
def test_it_refuses_a_bad_note(api: Api, session: str, path: str, body: dict[str, object]) -> None:
    assert api.post(f"{session}/scratch/{path}", body).status_code == 422


def test_dead_ends_are_found_in_the_stream_and_can_be_dismissed(api: Api) -> None:
    session = opened(api)
    say(api, session, user("build it"))
    for number in range(3):
        arguments = json.dumps({"command": "make build"})
        say(
            api,
            session,
            *tool_turn(f"c{number}", "make: *** Error 2\nfatal: no compiler", arguments=arguments),
        )
    found = api.get(f"{session}/scratch/dead-ends").json()["items"]
    by_kind = {row["found_by"]: row["evidence"] for row in found}
    assert by_kind == {"same_error": [2, 3, 4, 5], "repeated_failure": [2, 3, 4, 5, 6, 7]}
    assert signal_kinds(api, session).count("DEAD_END") == 2
    for row in found:
        assert api.post(f"{session}/scratch/dead-ends/{row['id']}/dismiss").status_code == 200
    assert api.get(f"{session}/scratch/dead-ends").json()["items"] == []
    say(api, session, assistant("hm"), *tool_turn("c9", "fine"))
    assert api.get(f"{session}/scratch/dead-ends").json()["items"] == []


def test_an_unknown_dead_end_cannot_be_dismissed(api: Api, session: str) -> None:
    assert api.post(f"{session}/scratch/dead-ends/note_nothing/dismiss").status_code == 404
