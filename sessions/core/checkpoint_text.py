"""The words of the checkpoint protocol: signal line, saved block, hand commands, the decision to clear."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

WRITE_SIGNAL = "CHECKPOINT:WRITE"

Trigger = Literal[
    "command", "signal", "context_size", "story_complete", "phase_transition", "subagents_complete"
]
Command = Literal["checkpoint", "clear"]

_COMMAND = re.compile(r"^[ \t]*\*(checkpoint|clear)[ \t]*\r?$", re.MULTILINE)
_SIGNAL = re.compile(r"^[ \t]*(?:SAGE_SIGNAL:)?CHECKPOINT:WRITE(?=:|[ \t]*\r?$)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlace:
    """Where the work stands; a part that is not known is an empty string."""

    epic: str = ""
    story: str = ""
    phase: str = ""
    task: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearRules:
    """Which of the automatic triggers a profile has switched on; None and 0 switch one off."""

    soft_limit_tokens: int | None = None
    story_complete: bool = False
    phase_transition: bool = False
    subagents_complete: int = 0
    commands: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """What happened up to a turn boundary; `subagents_complete` counts since the last clear."""

    used_tokens: int = 0
    story_complete: bool = False
    phase_transition: bool = False
    subagents_complete: int = 0
    command: Command | None = None
    write_signal: bool = False


def signal_line(place: CheckpointPlace) -> str:
    parts = (place.epic, place.story, place.phase, place.task)
    return f"SAGE_SIGNAL:{WRITE_SIGNAL}:" + ":".join(_escaped(part) for part in parts)


def saved_block(place: CheckpointPlace) -> str:
    lines = (
        "---",
        "CHECKPOINT SAVED",
        f"Epic: {place.epic} | Story: {place.story}",
        f"Phase: {place.phase} | Task: {place.task}",
        f"Commit: {place.commit}",
        "",
        "Context cleared. Resuming from checkpoint.",
        "---",
    )
    return "\n".join(lines)


def clear_triggers(facts: TurnFacts, rules: ClearRules) -> tuple[Trigger, ...]:
    """Every reason to checkpoint and clear now, the asked-for ones first; empty means go on."""
    limit = rules.soft_limit_tokens
    asked: Mapping[Trigger, bool] = {
        "command": rules.commands and facts.command is not None,
        "signal": facts.write_signal,
        "context_size": limit is not None and facts.used_tokens > limit,
        "story_complete": rules.story_complete and facts.story_complete,
        "phase_transition": rules.phase_transition and facts.phase_transition,
        "subagents_complete": 0 < rules.subagents_complete <= facts.subagents_complete,
    }
    return tuple(trigger for trigger, is_due in asked.items() if is_due)


def command_in(text: str) -> Command | None:
    """A hand command stands alone on its line; one that is quoted inside a sentence is talk about it."""
    found = _COMMAND.search(text)
    if found is None:
        return None
    return "clear" if found.group(1) == "clear" else "checkpoint"


def has_write_signal(text: str) -> bool:
    return _SIGNAL.search(text) is not None


def _escaped(part: str) -> str:
    """A colon would shift the fields, a line break would end the signal."""
    return " ".join(part.split()).replace(":", "%3A")
