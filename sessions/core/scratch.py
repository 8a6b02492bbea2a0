"""The notebook taken from the stream: an index in four sections and a detail document for each of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sessions.core.message import StoredMessage
from sessions.core.reading import WRITING_TOOLS, ToolCall, named_path, text_of, tool_calls

MAX_LINES = 200
SECTION_LINES = 47
HUMAN_INPUT_CHARACTERS = 120
_LINE_CHARACTERS = 240

HUMAN_INPUT = "human-input.md"
STATE_CHANGES = "state-changes.md"
DEAD_ENDS = "dead-ends.md"
ARTIFACTS = "artifacts.md"

_TITLES = {
    HUMAN_INPUT: "Human Input",
    STATE_CHANGES: "State Changes",
    DEAD_ENDS: "Dead Ends",
    ARTIFACTS: "Artifacts",
}
_READING_COMMANDS = frozenset({"view", "read", "open", "list"})
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\+\+\+ b/(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanInput:
    seq: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    seq: int
    previous: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadEndNote:
    seqs: tuple[int, ...]
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Modification:
    seq: int
    path: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    human_inputs: tuple[HumanInput, ...] = ()
    state_changes: tuple[StateChange, ...] = ()
    dead_ends: tuple[DeadEndNote, ...] = ()
    modifications: tuple[Modification, ...] = ()

    def artifacts(self) -> tuple[str, ...]:
        """Each modified file once, the most recently modified last."""
        newest_first = dict.fromkeys(m.path for m in reversed(self.modifications))
        return tuple(reversed(newest_first))


def extract_scratch(
    messages: Sequence[StoredMessage],
    *,
    state_changes: Iterable[StateChange] = (),
    dead_ends: Iterable[DeadEndNote] = (),
) -> Scratch:
    """State changes and dead ends are reported or detected elsewhere; the stream gives the rest."""
    return Scratch(
        human_inputs=tuple(_human_inputs(messages)),
        state_changes=tuple(state_changes),
        dead_ends=tuple(dead_ends),
        modifications=tuple(_modifications(messages)),
    )


def render_scratch(scratch: Scratch) -> str:
    """The index: at most 200 lines, every entry with the number of the message it came from."""
    lines = ["# Scratch", "", "Index of this session; `#n` is the number of the original message.", ""]
    for name, entries in _index_entries(scratch).items():
        lines.extend(_section(name, entries))
    return "\n".join(lines) + "\n"


def detail_entries(scratch: Scratch) -> dict[str, list[str]]:
    """Full entries per detail document; new entries only ever come at the end, so a mirror can append."""
    return {
        HUMAN_INPUT: [f"## #{entry.seq}\n\n{_quoted(entry.text)}\n" for entry in scratch.human_inputs],
        STATE_CHANGES: [_bullet(change.seq, _transition(change)) for change in scratch.state_changes],
        DEAD_ENDS: [_dead_end_detail(entry) for entry in scratch.dead_ends],
        ARTIFACTS: [_bullet(m.seq, f"{m.tool} {m.path}") for m in scratch.modifications],
    }


def detail_documents(scratch: Scratch) -> dict[str, str]:
    return {
        name: "\n".join([f"# {_TITLES[name]}", "", *entries, ""])
        for name, entries in detail_entries(scratch).items()
    }


def modified_paths(call: ToolCall) -> list[str]:
    """The files that a call changes, in the order in which it names them."""
    name = call.name.rsplit("__", 1)[-1].lower()
    if name not in WRITING_TOOLS or call.arguments.get("command") in _READING_COMMANDS:
        return []
    direct = named_path(call)
    return [direct] if direct else _patched_files(call)


def _patched_files(call: ToolCall) -> list[str]:
    patch = next((value for value in call.arguments.values() if isinstance(value, str)), call.raw)
    return [first or second for first, second in _PATCHED_FILE.findall(patch)]


def _human_inputs(messages: Iterable[StoredMessage]) -> Iterator[HumanInput]:
    for message in messages:
        text = text_of(message) if message.is_human else ""
        if text.strip():
            yield HumanInput(seq=message.seq, text=text)


def _modifications(messages: Iterable[StoredMessage]) -> Iterator[Modification]:
    for message in messages:
        for call in tool_calls(message):
            for path in modified_paths(call):
                yield Modification(seq=message.seq, path=path, tool=call.name)


def _index_entries(scratch: Scratch) -> dict[str, list[str]]:
    last_change = {m.path: m.seq for m in scratch.modifications}
    inputs = [_bullet(e.seq, _one_line(e.text)[:HUMAN_INPUT_CHARACTERS]) for e in scratch.human_inputs]
    return {
        HUMAN_INPUT: inputs,
        STATE_CHANGES: [_bullet(change.seq, _transition(change)) for change in scratch.state_changes],
        DEAD_ENDS: [_bullet(max(e.seqs, default=0), e.description) for e in scratch.dead_ends],
        ARTIFACTS: [_bullet(last_change[path], path) for path in scratch.artifacts()],
    }


def _section(name: str, entries: Sequence[str]) -> list[str]:
    """Heading, entries, pointer and an empty line: never more than SECTION_LINES; the newest entries win."""
    room = SECTION_LINES - 3
    if len(entries) > room:
        earlier = len(entries) - (room - 1)
        entries = [f"- {earlier} earlier", *entries[earlier:]]
    return [f"## {_TITLES[name]}", *(entries or ["- none"]), f"Details: .context/{name}", ""]


def _transition(change: StateChange) -> str:
    return f"{change.previous or '(start)'} → {change.new}"


def _dead_end_detail(entry: DeadEndNote) -> str:
    evidence = ", ".join(f"#{seq}" for seq in entry.seqs) or "reported without evidence"
    return f"- {_one_line(entry.description)} (evidence: {evidence})"


def _bullet(seq: int, text: str) -> str:
    reference = f"#{seq} " if seq else ""
    return f"- {reference}{_one_line(text)[:_LINE_CHARACTERS]}"


def _quoted(text: str) -> str:
    """Quoted line by line: no input can pretend to be a heading of the document."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _one_line(text: str) -> str:
    return " ".join(text.split())
