"""Finds what led nowhere: repeated failures, reverted edits, retried commands; each with its evidence."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

from sessions.core.message import StoredMessage
from sessions.core.reading import WRITING_TOOLS, ToolCall, named_path
from sessions.core.steps import Step, clip, command_of, is_command, program_of, shown, stable, steps_of

DeadEndKind = Literal["repeated_failure", "edit_reverted", "same_error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadEnd:
    kind: DeadEndKind
    description: str
    evidence: tuple[int, ...]
    key: str


def find_dead_ends(messages: Sequence[StoredMessage], *, repeats: int = 3) -> list[DeadEnd]:
    """Dead ends in order of their last evidence; one approach is reported once, with everything it tried."""
    steps = list(steps_of(messages))
    found = [
        *_repeated_failures(steps, repeats),
        *_same_errors(steps, repeats),
        *_blind_retries(steps),
        *_reverted_edits(steps),
    ]
    return sorted(_without_doubles(found), key=lambda dead_end: (dead_end.evidence[-1], dead_end.key))


def _repeated_failures(steps: Iterable[Step], repeats: int) -> Iterator[DeadEnd]:
    """The same tool with the same input, failing again and again; one success in between starts over."""
    for streak in _failing_streaks(steps, _same_input):
        if len(streak) >= repeats:
            yield _from_streak("repeated_failure", streak, f"failed {len(streak)} times")


def _same_errors(steps: Iterable[Step], repeats: int) -> Iterator[DeadEnd]:
    """A command that is varied and retried and still ends in the same error."""
    for streak in _failing_streaks(filter(is_command, steps), lambda step: program_of(step.call)):
        if len(streak) >= repeats and len({stable(step.failure) for step in streak[-repeats:]}) == 1:
            yield _from_streak("same_error", streak, f"retried {len(streak)} times with the same error")


def _blind_retries(steps: Iterable[Step]) -> Iterator[DeadEnd]:
    """The identical command run again although nothing was changed since it failed, with the same error."""
    unchanged: dict[str, Step] = {}
    for step in steps:
        if step.failure is None and step.call.name.lower() in WRITING_TOOLS:
            unchanged.clear()
        if not is_command(step) or step.failure is None:
            continue
        before = unchanged.get(_same_input(step))
        if before is not None and stable(before.failure) == stable(step.failure):
            yield _from_streak("same_error", [before, step], "retried unchanged with the same error")
        unchanged[_same_input(step)] = step


def _from_streak(kind: DeadEndKind, streak: Sequence[Step], what: str) -> DeadEnd:
    last = streak[-1]
    return DeadEnd(
        kind=kind,
        description=f"{shown(last.call)} {what}: {clip(last.failure or '')}",
        evidence=tuple(seq for step in streak for seq in (step.seq, step.result_seq)),
        key=_key(kind, _same_input(last), str(streak[0].seq)),
    )


def _key(*parts: str) -> str:
    """Stable while a streak grows, so that what a person has dismissed stays dismissed."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _failing_streaks(steps: Iterable[Step], same: Callable[[Step], str]) -> Iterator[list[Step]]:
    streaks: dict[str, list[Step]] = {}
    for step in steps:
        key = same(step)
        if step.failure is not None:
            streaks.setdefault(key, []).append(step)
        elif key in streaks:
            yield streaks.pop(key)
    yield from streaks.values()


def _reverted_edits(steps: Iterable[Step]) -> Iterator[DeadEnd]:
    """An edit whose exact inverse is applied later; a file restored from version control counts as well."""
    done: dict[tuple[str, str, str], Step] = {}
    for step in steps:
        if step.failure is not None:
            continue
        for path, old, new in _replacements(step.call):
            undone = done.pop((path, new, old), None)
            if undone is not None:
                yield _reverted(path, undone, step)
            else:
                done[path, old, new] = step
        for path in _restored_paths(step.call):
            for key in [key for key in done if key[0] == path or key[0].endswith("/" + path)]:
                yield _reverted(key[0], done.pop(key), step)


def _reverted(path: str, edit: Step, undo: Step) -> DeadEnd:
    return DeadEnd(
        kind="edit_reverted",
        description=f"Edit of {path} was reverted",
        evidence=(edit.seq, edit.result_seq, undo.seq, undo.result_seq),
        key=_key("edit_reverted", path, str(edit.seq)),
    )


def _replacements(call: ToolCall) -> Iterator[tuple[str, str, str]]:
    path = named_path(call)
    if path is None:
        return
    edits = call.arguments.get("edits")
    for edit in edits if isinstance(edits, list) else [call.arguments]:
        if isinstance(edit, dict):
            pair = _pair(edit)
            if pair is not None and pair[0] != pair[1]:
                yield path, *pair


def _pair(edit: Mapping[str, Any]) -> tuple[str, str] | None:
    for old, new in (("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text")):
        if isinstance(edit.get(old), str) and isinstance(edit.get(new), str):
            return edit[old], edit[new]
    return None


_RESTORE = re.compile(r"\bgit (?:checkout|restore)\b([^\n;&|]{0,400})")


def _restored_paths(call: ToolCall) -> list[str]:
    found = _RESTORE.search(command_of(call))
    if found is None or re.search(r"(?:^| )-b(?: |$)", found.group(1)):
        return []
    return [word for word in found.group(1).split() if not word.startswith("-") and word != "HEAD"]


def _same_input(step: Step) -> str:
    arguments = step.call.arguments
    written = json.dumps(arguments, sort_keys=True, ensure_ascii=False) if arguments else step.call.raw
    return f"{step.call.name}\0{written}"


def _without_doubles(found: Iterable[DeadEnd]) -> list[DeadEnd]:
    """The same calls are reported once: as a repeated failure rather than as a same error."""
    kept: list[DeadEnd] = []
    for dead_end in found:
        if not any(set(dead_end.evidence) <= set(other.evidence) for other in kept):
            kept.append(dead_end)
    return kept
