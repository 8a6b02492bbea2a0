"""Calls together with the results that answered them, and how to show one in a line."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sessions.core.message import StoredMessage
from sessions.core.reading import ToolCall, failure_line, named_path, tool_calls

_COMMAND_NAMES = "bash shell local_shell exec exec_command run run_command terminal execute"
_COMMAND_TOOLS = frozenset(_COMMAND_NAMES.split())
_WRAPPER = re.compile(r"^(?:bash -l?c |cd \S+ *(?:&&|;) *|sudo |env |\w+=\S* )+")
# What differs between two runs of the same failure: addresses, durations, times, temporary files.
_VOLATILE = re.compile(
    r"0x[0-9a-fA-F]+|\b\d+(?:\.\d+)?(?:ms|s)\b|\b\d{2}:\d{2}:\d{2}\b|/(?:tmp|var/folders)/\S+"
)
_SHOWN_CHARACTERS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call with the result that answered it."""

    seq: int
    result_seq: int
    call: ToolCall
    failure: str | None


def steps_of(messages: Iterable[StoredMessage]) -> Iterator[Step]:
    """Answered calls in the order of their results."""
    waiting: dict[str, tuple[int, ToolCall]] = {}
    for message in messages:
        for call in tool_calls(message):
            waiting[call.id] = (message.seq, call)
        if message.result_id is not None and message.result_id in waiting:
            seq, call = waiting.pop(message.result_id)
            yield Step(seq=seq, result_seq=message.seq, call=call, failure=failure_line(message))


def is_command(step: Step) -> bool:
    return step.call.name.lower() in _COMMAND_TOOLS


def command_of(call: ToolCall) -> str:
    value = call.arguments.get("command", call.arguments.get("cmd", ""))
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def program_of(call: ToolCall) -> str:
    """`cd x && npm run build --verbose` and `npm run build` are attempts at one thing: npm run."""
    words = [word for word in _WRAPPER.sub("", command_of(call).strip()).split() if not word.startswith("-")]
    return " ".join(words[:2])


def stable(error: str | None) -> str:
    return _VOLATILE.sub("*", error or "")


def shown(call: ToolCall) -> str:
    subject = command_of(call) or named_path(call) or call.raw
    return clip(f"{call.name}: {subject}" if subject else call.name)


def clip(text: str, characters: int = _SHOWN_CHARACTERS) -> str:
    line = " ".join(text[: 4 * characters].split())
    return line if len(line) <= characters else line[: characters - 1] + "…"
