"""T5, T6 and T10: the scratch notebook."""

from sessions.core.dead_ends import find_dead_ends
from sessions.core.scratch import (
    DeadEndNote,
    Modification,
    Scratch,
    StateChange,
    detail_documents,
    extract_scratch,
    render_scratch,
)
from tests.core.sessions.conversation import assistant, failing_bash, result, user

HEADINGS = ["## Human Input", "## State Changes", "## Dead Ends", "## Artifacts"]


def full_scratch() -> Scratch:
    """More of everything than an index can hold."""
    inputs = extract_scratch([user(seq, f"input {seq} " + "x" * 300) for seq in range(1, 301)]).human_inputs
    return Scratch(
        human_inputs=inputs,
        state_changes=tuple(StateChange(seq=s, previous=f"S{s}", new=f"S{s + 1}") for s in range(1, 301)),
        dead_ends=tuple(DeadEndNote(seqs=(s,), description=f"dead end {s}") for s in range(1, 301)),
        modifications=tuple(Modification(seq=s, path=f"src/f{s}.py", tool="Edit") for s in range(1, 301)),
    )


def sections(text: str) -> list[list[str]]:
    lines = text.splitlines()
    starts = [lines.index(heading) for heading in HEADINGS]
    return [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def test_t5_it_extracts_inputs_files_state_changes_and_dead_ends() -> None:
    scratch = extract_scratch(
        [
            user(1, "Add a login page."),
            user(
                2,
                [{"type": "text", "text": "With a logo."}, {"type": "image_url", "image_url": {"url": "x"}}],
            ),
            assistant(3, a=("Write", {"file_path": "login.html"}), b=("Edit", {"file_path": "urls.py"})),
            result(4, "a", "ok"),
            result(5, "b", "ok"),
            assistant(6, c=("Edit", {"file_path": "urls.py"})),
        ],
        state_changes=[StateChange(seq=6, previous="PLAN", new="WORK")],
        dead_ends=[DeadEndNote(seqs=(4,), description="The logo cannot be loaded from there.")],
    )
    text = render_scratch(scratch)
    for expected in (
        "Add a login page.",
        "With a logo.",
        "PLAN → WORK",
        "The logo cannot be loaded",
        "login.html",
    ):
        assert expected in text
    assert text.count("urls.py") == 1


def test_t6_the_index_has_four_sections_in_order_and_at_most_200_lines() -> None:
    text = render_scratch(full_scratch())
    assert len(text.splitlines()) <= 200
    assert [line for line in text.splitlines() if line.startswith("## ")] == HEADINGS
    assert all(len(section) <= 47 for section in sections(text))


def test_t6_overflow_keeps_the_newest_and_counts_the_rest() -> None:
    for section, newest in zip(
        sections(render_scratch(full_scratch())),
        ("input 300 ", "S300 → S301", "dead end 300", "f300.py"),
        strict=True,
    ):
        entries = [line for line in section if line.startswith("- ")]
        assert newest in entries[-1]
        assert entries[0] == f"- {300 - len(entries) + 1} earlier"


def test_t6_human_messages_are_cut_to_120_characters() -> None:
    text = render_scratch(extract_scratch([user(1, "y" * 121)]))
    assert "y" * 120 in text
    assert "y" * 121 not in text


def test_t6_every_section_points_to_its_details() -> None:
    text = render_scratch(Scratch())
    for name in ("human-input", "state-changes", "dead-ends", "artifacts"):
        assert f".context/{name}.md" in text


def test_t10_index_detail_and_original_lead_to_each_other() -> None:
    scratch = extract_scratch([user(7, "A long story. " * 50)])
    assert "- #7 A long story." in render_scratch(scratch)
    detail = detail_documents(scratch)["human-input.md"]
    assert "## #7" in detail
    assert ("A long story. " * 50).strip() in detail


def test_t10_all_four_sections_have_detail_documents() -> None:
    documents = detail_documents(full_scratch())
    assert sorted(documents) == ["artifacts.md", "dead-ends.md", "human-input.md", "state-changes.md"]
    assert "src/f1.py" in documents["artifacts.md"] and "S1 → S2" in documents["state-changes.md"]


def test_t10_dead_ends_are_found_in_the_stream() -> None:
    edits = [("a.py", "1", "2"), ("a.py", "2", "1")]
    messages = failing_bash(1, "make build", "make: *** Error 2\nfatal: no compiler", 3)
    for seq, (path, old, new) in zip((10, 12), edits, strict=True):
        arguments = {"file_path": path, "old_string": old, "new_string": new}
        messages += [assistant(seq, **{f"e{seq}": ("Edit", arguments)}), result(seq + 1, f"e{seq}", "ok")]
    messages += failing_bash(20, "curl localhost", "curl: (7) Failed to connect\nexit code 7", 2)
    found = find_dead_ends(messages)
    assert [dead_end.kind for dead_end in found] == ["repeated_failure", "edit_reverted", "same_error"]
    assert all(dead_end.evidence for dead_end in found)
