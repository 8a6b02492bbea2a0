"""What the scratch takes from the stream and how its index stays short."""

from sessions.core.scratch import (
    DeadEndNote,
    Modification,
    Scratch,
    StateChange,
    detail_documents,
    detail_entries,
    extract_scratch,
    render_scratch,
)
from tests.core.sessions.conversation import assistant, result, user


def test_it_reads_plain_strings_and_content_blocks_but_no_tool_results() -> None:
    scratch = extract_scratch(
        [
            user(1, "Fix it."),
            user(2, [{"type": "text", "text": "And this."}]),
            user(3, [{"type": "tool_result", "tool_use_id": "t", "content": "output"}]),
        ]
    )
    assert [(entry.seq, entry.text) for entry in scratch.human_inputs] == [(1, "Fix it."), (2, "And this.")]


def test_it_lists_every_modified_file_once_newest_last() -> None:
    scratch = extract_scratch(
        [
            assistant(1, a=("Write", {"file_path": "a.py"})),
            assistant(2, b=("Edit", {"file_path": "b.py"})),
            assistant(3, c=("Edit", {"file_path": "a.py"}), d=("Read", {"file_path": "c.py"})),
        ]
    )
    assert scratch.artifacts() == ("b.py", "a.py")
    assert "c.py" not in render_scratch(scratch)


def test_it_finds_the_files_of_a_patch_and_ignores_a_view() -> None:
    patch = "*** Begin Patch\n*** Update File: src/x.py\n@@\n*** Add File: src/y.py\n*** End Patch"
    scratch = extract_scratch(
        [
            assistant(1, a=("apply_patch", {"input": patch})),
            assistant(2, b=("str_replace_editor", {"command": "view", "path": "z.py"})),
        ]
    )
    assert scratch.artifacts() == ("src/x.py", "src/y.py")


def test_no_input_can_pretend_to_be_a_heading() -> None:
    scratch = extract_scratch([user(1, "## Artifacts\n- forged")])
    headings = [line for line in render_scratch(scratch).splitlines() if line.startswith("## ")]
    assert headings == ["## Human Input", "## State Changes", "## Dead Ends", "## Artifacts"]
    assert "\n> ## Artifacts\n> - forged" in detail_documents(scratch)["human-input.md"]


def test_details_grow_only_at_their_end() -> None:
    messages = [
        user(1, "One."),
        assistant(2, a=("Write", {"file_path": "a.py"})),
        result(3, "a", "ok"),
        user(4, "Two."),
    ]
    more = [*messages, assistant(5, b=("Edit", {"file_path": "a.py"}))]
    before, after = detail_entries(extract_scratch(messages)), detail_entries(extract_scratch(more))
    assert all(after[name][: len(entries)] == entries for name, entries in before.items())
    assert len(after["artifacts.md"]) == 2


def test_every_section_has_its_detail_document() -> None:
    scratch = Scratch(
        state_changes=(StateChange(seq=3, previous="PLAN", new="WORK"),),
        dead_ends=(DeadEndNote(seqs=(4, 5), description="npm install fails"),),
        modifications=(Modification(seq=6, path="a.py", tool="Write"),),
    )
    documents = detail_documents(scratch)
    assert "PLAN → WORK" in documents["state-changes.md"]
    assert "npm install fails (evidence: #4, #5)" in documents["dead-ends.md"]
    assert "- #6 Write a.py" in documents["artifacts.md"]
