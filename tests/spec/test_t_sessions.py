"""T4, T5, T6, T9 and T10 over REST."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.client import Api
from tests.session_calls import (
    context,
    opened,
    profiled,
    record,
    row_of,
    say,
    sent_text,
    tool_turn,
    usage,
    user,
)

pytestmark = pytest.mark.django_db

MARKDOWN = {"Accept": "text/markdown"}


def coding_agent(api: Api, **fields: Any) -> str:
    return opened(api, model="claude-3-opus", profile="stream-coding-agent", **fields)


def result(used: int) -> dict[str, Any]:
    return {"type": "result", "usage": {"input_tokens": used, "output_tokens": 10}}


def waiting(api: Api, session: str) -> list[str]:
    return [row["text"] for row in api.get(f"{session}/interventions").json()["items"]]


@pytest.mark.parametrize(
    ("fields", "state", "expected"),
    [
        (
            {"task": "the parser", "scratch_path": ".context/scratch.md"},
            "BUILD",
            "/compact focus on the parser -- current CfA state is BUILD\n"
            "After compaction, read .context/scratch.md for preserved context.",
        ),
        ({"task": "the parser"}, None, "/compact focus on the parser"),
        ({}, "BUILD", "/compact current CfA state is BUILD"),
        ({}, None, "/compact"),
    ],
)
def test_t4_the_next_intervention_names_task_state_and_scratch(
    api: Api, fields: dict[str, str], state: str | None, expected: str
) -> None:
    session = coding_agent(api, **fields)
    if state:
        record(api, session, {"type": "state_change", "previous": "OLD", "new": "PLAN"})
        record(api, session, {"type": "state_change", "previous": "PLAN", "new": state})
    record(api, session, result(155_999), format="claude-code")
    assert waiting(api, session) == []
    answer = record(api, session, result(156_000), format="claude-code")
    assert [row["text"] for row in answer["interventions"]] == waiting(api, session) == [expected]


def test_t4_the_template_is_the_profiles(api: Api, manage_key: str) -> None:
    profiled(
        Api(key=manage_key), "own", "stream-coding-agent", interventions={"compact": "/shrink keep {task}"}
    )
    session = opened(api, model="claude-3-opus", profile="own", task="tests")
    record(api, session, result(160_000), format="claude-code")
    assert waiting(api, session) == ["/shrink keep tests"]


def test_t9_that_turn_begins_with_it_and_the_agents_summary_ends_it(api: Api) -> None:
    session = coding_agent(api, task="the parser")
    record(api, session, {"type": "user", "message": user("go"), "uuid": "u1"}, format="claude-code")
    record(api, session, result(160_000), format="claude-code")
    body = context(api, session)
    assert "/compact focus on the parser" in sent_text(body)
    assert waiting(api, session)
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b1",
        "compactMetadata": {"trigger": "manual", "preTokens": 160_000},
    }
    summary = {
        "type": "user",
        "uuid": "u2",
        "isCompactSummary": True,
        "message": user("This session continues: the parser is half done."),
    }
    record(api, session, boundary, summary, format="claude-code")
    assert waiting(api, session) == []
    assert "/compact" not in sent_text(context(api, session))
    row = row_of(session)
    assert (row.epoch, row.reported_prompt) == (1, None)
    assert api.get(f"{session}/budget").json()["flags"] == {"warning": False, "compact": False}


def stream(api: Api) -> str:
    session = opened(api)
    say(
        api,
        session,
        user("Add a login page."),
        user([{"type": "text", "text": "With a logo."}, {"type": "image_url", "image_url": {"url": "x"}}]),
        *tool_turn("w1", "written", name="Write", arguments=json.dumps({"file_path": "login.html"})),
        *tool_turn("w2", "edited", name="Edit", arguments=json.dumps({"file_path": "urls.py"})),
        *tool_turn("w3", "edited", name="Edit", arguments=json.dumps({"file_path": "urls.py"})),
    )
    record(api, session, {"type": "state_change", "previous": "PLAN", "new": "WORK"})
    record(api, session, {"type": "dead_end", "description": "The logo cannot be loaded from there."})
    return session


def test_t5_the_notebook_is_extracted_from_the_stream(api: Api) -> None:
    body = api.get(f"{stream(api)}/scratch").json()
    assert [row["text"] for row in body["human_inputs"]] == ["Add a login page.", "With a logo."]
    assert body["artifacts"] == ["login.html", "urls.py"]
    assert [(row["previous"], row["new"]) for row in body["state_changes"]] == [("PLAN", "WORK")]
    assert [row["description"] for row in body["dead_ends"]] == ["The logo cannot be loaded from there."]


def test_t6_the_index_is_short_however_long_the_session(api: Api) -> None:
    session = opened(api)
    say(api, session, *(user(f"input {n} " + "y" * 300) for n in range(300)))
    for first in range(0, 300, 100):
        record(
            api,
            session,
            *(
                {"type": "state_change", "previous": f"S{n}", "new": f"S{n + 1}"}
                for n in range(first, first + 100)
            ),
        )
    text = api.get(f"{session}/scratch", headers=MARKDOWN).content.decode()
    lines = text.splitlines()
    headings = ["## Human Input", "## State Changes", "## Dead Ends", "## Artifacts"]
    assert len(lines) <= 200
    assert [line for line in lines if line.startswith("## ")] == headings
    starts = [lines.index(heading) for heading in headings]
    assert all(end - start <= 47 for start, end in zip(starts, [*starts[1:], len(lines)], strict=True))
    assert "earlier" in lines[starts[0] + 1] or "earlier" in lines[starts[0] + 2]
    assert "input 299 " in text and "S299 → S300" in text and "input 0 " not in text
    assert max(len(line) for line in lines if "input 299" in line) < 140
    for name in ("human-input", "state-changes", "dead-ends", "artifacts"):
        assert f".context/{name}.md" in text


def test_t10_index_detail_and_original_lead_to_each_other(api: Api) -> None:
    session = opened(api)
    story = "A long story. " * 50
    say(api, session, user(story))
    index = api.get(f"{session}/scratch", headers=MARKDOWN).content.decode()
    assert "- #1 A long story." in index and story not in index
    detail = api.get(f"{session}/scratch/human-input", headers=MARKDOWN).content.decode()
    assert "## #1" in detail and story.strip() in detail
    (original,) = api.get(f"{session}/messages?seq=1").json()["items"]
    assert original["message"]["content"] == story


def test_t10_dead_ends_are_found_with_their_evidence(api: Api) -> None:
    session = opened(api)
    say(api, session, user("go"))
    failing = json.dumps({"command": "make build"})
    for number in range(3):
        say(api, session, *tool_turn(f"f{number}", "fatal: no compiler", arguments=failing))
    for number, (old, new) in enumerate([("1", "2"), ("2", "1")]):
        edit = json.dumps({"file_path": "a.py", "old_string": old, "new_string": new})
        say(api, session, *tool_turn(f"e{number}", "ok", name="Edit", arguments=edit))
    items = api.get(f"{session}/scratch/dead-ends").json()["items"]
    found = {row["found_by"]: row for row in items}
    assert set(found) == {"same_error", "repeated_failure", "edit_reverted"}
    for row in items:
        originals = [api.get(f"{session}/messages?seq={seq}").json()["items"] for seq in row["evidence"]]
        assert all(originals)


@pytest.mark.parametrize(("repeats", "found"), [(3, True), (4, False)])
def test_t10_the_limit_is_the_profiles(api: Api, manage_key: str, repeats: int, found: bool) -> None:
    profiled(Api(key=manage_key), "own", "ratio-default", dead_ends={"repeats": repeats})
    session = opened(api, profile="own")
    say(api, session, user("go"))
    for number in range(3):
        say(api, session, *tool_turn(f"f{number}", f"fatal: try {number}", arguments='{"command": "make"}'))
    record(api, session, usage(10))
    kinds = [row["found_by"] for row in api.get(f"{session}/scratch/dead-ends").json()["items"]]
    assert ("repeated_failure" in kinds) is found
