"""Approaches that led nowhere are found in the stream, with their evidence, and honest work is not."""

from sessions.core.dead_ends import find_dead_ends
from sessions.core.message import StoredMessage
from tests.core.sessions.conversation import assistant, failing_bash, result, user

NOT_FOUND = "bash: foo: command not found"


def edit(seq: int, path: str, old: str, new: str) -> list[StoredMessage]:
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    return [
        assistant(seq, **{f"e{seq}": ("Edit", arguments)}),
        result(seq + 1, f"e{seq}", "The file was updated."),
    ]


def test_the_same_call_failing_three_times_is_a_dead_end() -> None:
    messages = [user(1, "Read it."), *read_failures(2, 3)]
    (found,) = find_dead_ends(messages)
    assert found.kind == "repeated_failure"
    assert found.evidence == (2, 3, 4, 5, 6, 7)
    assert "missing.py" in found.description and "3 times" in found.description


def read_failures(first_seq: int, times: int) -> list[StoredMessage]:
    messages: list[StoredMessage] = []
    for seq in range(first_seq, first_seq + 2 * times, 2):
        messages.append(assistant(seq, **{f"r{seq}": ("Read", {"file_path": "missing.py"})}))
        messages.append(result(seq + 1, f"r{seq}", "Error: File does not exist."))
    return messages


def test_two_failures_are_not_enough_and_the_limit_is_the_profiles() -> None:
    assert find_dead_ends(read_failures(1, 2)) == []
    assert len(find_dead_ends(read_failures(1, 2), repeats=2)) == 1


def test_a_success_in_between_starts_over() -> None:
    fine = [assistant(10, f=("Read", {"file_path": "missing.py"})), result(11, "f", "x = 1")]
    assert find_dead_ends([*read_failures(1, 2), *fine, *read_failures(12, 2)]) == []


def test_a_command_retried_unchanged_with_the_same_error_is_a_dead_end() -> None:
    (found,) = find_dead_ends(failing_bash(1, "foo --help", NOT_FOUND, 2))
    assert found.kind == "same_error"
    assert found.evidence == (1, 2, 3, 4)


def test_a_command_run_again_after_an_edit_is_honest_work() -> None:
    messages = [
        *failing_bash(1, "pytest", "E   assert 1 == 2", 1),
        *edit(3, "a.py", "1", "2"),
        *failing_bash(5, "pytest", "E   assert 1 == 2", 1),
    ]
    assert find_dead_ends(messages) == []


def test_a_varied_command_that_always_ends_in_the_same_error_is_a_dead_end() -> None:
    messages = [
        *failing_bash(1, "npm install left", "npm ERR! network timeout at 10:00:01", 1),
        *failing_bash(3, "npm install left --force", "npm ERR! network timeout at 10:00:09", 1),
        *failing_bash(5, "cd app && npm install left --verbose", "npm ERR! network timeout at 10:01:00", 1),
    ]
    (found,) = find_dead_ends(messages)
    assert found.kind == "same_error"
    assert found.evidence == (1, 2, 3, 4, 5, 6)


def test_an_edit_that_is_taken_back_is_a_dead_end() -> None:
    messages = [
        *edit(1, "src/a.py", "old", "new"),
        *edit(3, "src/b.py", "x", "y"),
        *edit(5, "src/a.py", "new", "old"),
    ]
    (found,) = find_dead_ends(messages)
    assert (found.kind, found.evidence) == ("edit_reverted", (1, 2, 5, 6))
    assert "src/a.py" in found.description


def test_a_file_restored_from_version_control_is_a_dead_end() -> None:
    messages = [
        *edit(1, "repo/src/a.py", "old", "new"),
        assistant(3, c=("Bash", {"command": "git checkout -- src/a.py"})),
        result(4, "c", "Updated 1 path from the index"),
    ]
    assert [found.kind for found in find_dead_ends(messages)] == ["edit_reverted"]


def test_its_key_stays_while_the_streak_grows() -> None:
    assert find_dead_ends(read_failures(1, 3))[0].key == find_dead_ends(read_failures(1, 5))[0].key


def test_source_code_about_errors_is_not_a_failure() -> None:
    code = "class ParseError(Exception):\n    raise ValueError('Error: no')\n"
    messages = [
        message
        for seq in range(1, 9, 2)
        for message in (
            assistant(seq, **{f"r{seq}": ("Read", {"file_path": "e.py"})}),
            result(seq + 1, f"r{seq}", f"1→{code}"),
        )
    ]
    assert find_dead_ends(messages) == []
