"""C3: the words of the clear sequence."""

from sessions.core.checkpoint_text import CheckpointPlace, saved_block, signal_line

PLACE = CheckpointPlace(epic="E1", story="S2", phase="build", task="4", commit="abc1234")


def test_c3_the_signal_names_epic_story_phase_and_task() -> None:
    assert signal_line(PLACE) == "SAGE_SIGNAL:CHECKPOINT:WRITE:E1:S2:build:4"


def test_c3_a_colon_inside_an_id_is_escaped() -> None:
    place = CheckpointPlace(epic="jira:77", story="S2", phase="build", task="4")
    assert signal_line(place) == "SAGE_SIGNAL:CHECKPOINT:WRITE:jira%3A77:S2:build:4"


def test_c3_the_block_is_exact() -> None:
    assert saved_block(PLACE) == (
        "---\n"
        "CHECKPOINT SAVED\n"
        "Epic: E1 | Story: S2\n"
        "Phase: build | Task: 4\n"
        "Commit: abc1234\n"
        "\n"
        "Context cleared. Resuming from checkpoint.\n"
        "---"
    )
