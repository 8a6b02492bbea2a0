"""What is remembered for good, and that the newest statement wins."""

from sessions.core.memory import extract_memory
from tests.core.sessions.conversation import assistant, failing_bash, result, user


def kinds(messages: list) -> dict[str, list[str]]:  # type: ignore[type-arg]
    found: dict[str, list[str]] = {}
    for candidate in extract_memory(messages):
        found.setdefault(candidate.kind, []).append(candidate.text)
    return found


def test_it_remembers_facts_preferences_decisions_errors_and_files() -> None:
    found = kinds(
        [
            user(1, "My name is Ada. I prefer tabs in Python files."),
            assistant(2, "We decided on Postgres."),
            assistant(3, "Adding the model.", a=("Write", {"file_path": "src/model.py", "content": "x"})),
            result(4, "a", "ok"),
            *failing_bash(5, "make lint", "Error: ruff not found", 1),
        ]
    )
    assert found["fact"] == ["My name is Ada."]
    assert found["preference"] == ["I prefer tabs in Python files."]
    assert found["decision"] == ["We decided on Postgres."]
    assert found["file"] == ["src/model.py: Adding the model."]
    assert "ruff not found" in found["error"][0]


def test_a_later_statement_about_the_same_thing_replaces_the_first() -> None:
    found = extract_memory([user(1, "Our port is 8080."), user(2, "Sorry, our port is 9090.")])
    assert [(c.text, c.source_seq) for c in found] == [("Sorry, our port is 9090.", 2)]


def test_questions_and_other_voices_are_not_facts_about_the_user() -> None:
    assert extract_memory([user(1, "Is my name Ada?"), assistant(2, "My name is Claude.")]) == []


def test_an_error_that_got_resolved_replaces_the_open_one() -> None:
    messages = [
        *failing_bash(1, "make lint", "Error: ruff not found", 1),
        assistant(3, None, b=("Bash", {"command": "make lint"})),
        result(4, "b", "All good"),
    ]
    before = [c for c in extract_memory(messages[:2]) if c.kind == "error"]
    after = [c for c in extract_memory(messages) if c.kind == "error"]
    assert before[0].key == after[0].key
    assert "unresolved" in before[0].text
    assert "resolved at #4" in after[0].text


def test_a_request_is_not_a_preference() -> None:
    assert extract_memory([user(1, "Please cancel my flight. I need help with the bill.")]) == []


def test_a_preference_about_the_same_subject_replaces_the_first() -> None:
    found = extract_memory(
        [user(1, "I prefer tabs in Python files."), user(2, "I prefer spaces in Python files.")]
    )
    assert [c.text for c in found] == ["I prefer spaces in Python files."]
