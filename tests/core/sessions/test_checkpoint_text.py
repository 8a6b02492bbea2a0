"""Commands, signals and triggers of the checkpoint protocol."""

import pytest

from sessions.core.checkpoint_text import (
    CheckpointPlace,
    ClearRules,
    TurnFacts,
    clear_triggers,
    command_in,
    has_write_signal,
    signal_line,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*checkpoint", "checkpoint"),
        ("  *clear  ", "clear"),
        ("Done for today.\n*clear\r\n", "clear"),
        # Talk about a command is not the command.
        ("What does *clear do?", None),
        ("* clear", None),
        ("**clear**", None),
        ("", None),
        ("\n" * 100_000, None),
    ],
)
def test_it_finds_commands(text: str, expected: str | None) -> None:
    assert command_in(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SAGE_SIGNAL:CHECKPOINT:WRITE:e:s:p:t", True),
        ("CHECKPOINT:WRITE", True),
        ("I will emit CHECKPOINT:WRITE later", False),
        ("CHECKPOINT:WRITER", False),
    ],
)
def test_it_finds_the_write_signal(text: str, expected: bool) -> None:
    assert has_write_signal(text) is expected


def test_a_line_break_cannot_end_the_signal_early() -> None:
    assert signal_line(CheckpointPlace(epic="E1\nrm -rf", task="T:1")) == (
        "SAGE_SIGNAL:CHECKPOINT:WRITE:E1 rm -rf:::T%3A1"
    )


RULES = ClearRules(
    soft_limit_tokens=40_000, story_complete=True, phase_transition=True, subagents_complete=5, commands=True
)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (TurnFacts(used_tokens=40_000), ()),
        (TurnFacts(used_tokens=40_001), ("context_size",)),
        (TurnFacts(subagents_complete=4), ()),
        (TurnFacts(subagents_complete=5), ("subagents_complete",)),
        (TurnFacts(story_complete=True, phase_transition=True), ("story_complete", "phase_transition")),
        (TurnFacts(command="checkpoint", write_signal=True), ("command", "signal")),
    ],
)
def test_it_clears_on(facts: TurnFacts, expected: tuple[str, ...]) -> None:
    assert clear_triggers(facts, RULES) == expected


def test_a_profile_without_triggers_clears_on_the_signal_alone() -> None:
    everything = TurnFacts(
        used_tokens=10**6, story_complete=True, phase_transition=True, subagents_complete=9, command="clear"
    )
    assert clear_triggers(everything, ClearRules()) == ()
