"""What a summary of tool-using work must not lose: requests, decisions, errors and what is still open."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sessions.core.message import StoredMessage
from sessions.core.reading import named_path, text_of, tool_calls
from sessions.core.steps import Step, clip, program_of, shown, stable, steps_of
from sessions.core.summary.units import sentences

_REQUEST_CHARACTERS = 400
_LINE_CHARACTERS = 240
# Only the end of a stretch says what is still open; earlier intentions have been acted upon.
_OPEN_TAIL_MESSAGES = 30

_DECISION = re.compile(
    r"\b(?:decided|decision|we(?:'ll| will) (?:use|go|keep)|let's (?:use|go with)|going with"
    r"|(?:I|we) (?:chose|choose)|agreed|instead of|root cause|the (?:fix|problem|issue|solution) (?:is|was)"
    r"|turns? out|must (?:not|never)|(?:always|never) use)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:TODO|FIXME|next step|still (?:need|have|must|open|missing)|remaining|not yet|left to do"
    r"|follow[- ]up|open question|pending|blocked|waiting for)\b|^[-*] \[ \]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    seq: int
    text: str

    def line(self) -> str:
        return f"- #{self.seq} {self.text}"


def requests(messages: Iterable[StoredMessage]) -> list[Fact]:
    return [
        Fact(seq=message.seq, text=clip(text, _REQUEST_CHARACTERS))
        for message in messages
        if message.is_human and (text := text_of(message)).strip()
    ]


def decisions(messages: Iterable[StoredMessage]) -> list[Fact]:
    return _distinct(_matching(messages, _DECISION))


def open_items(messages: Sequence[StoredMessage]) -> list[Fact]:
    """The latest task list, then what the last messages leave open; a question nobody answered comes last."""
    tail = messages[-_OPEN_TAIL_MESSAGES:]
    found = [*_task_list(messages), *_matching(tail, _OPEN), *_unanswered(tail)]
    return _distinct(found)


def errors(messages: Iterable[StoredMessage]) -> list[Fact]:
    """Each distinct failure once, with the step that got past it."""
    steps = list(steps_of(messages))
    latest: dict[tuple[str, str], int] = {}
    for position, step in enumerate(steps):
        if step.failure is not None:
            latest[_subject(step), stable(step.failure)] = position
    return [_error_fact(steps, position) for position in sorted(latest.values())]


def _error_fact(steps: Sequence[Step], position: int) -> Fact:
    step = steps[position]
    later = (s for s in steps[position + 1 :] if s.failure is None and _subject(s) == _subject(step))
    resolution = next((f"resolved at #{s.result_seq}" for s in later), "unresolved")
    text = f"{clip(shown(step.call), 100)} → {clip(step.failure or '', 160)} ({resolution})"
    return Fact(seq=step.result_seq, text=text)


def _subject(step: Step) -> str:
    return f"{step.call.name} {named_path(step.call) or program_of(step.call) or step.call.raw[:80]}"


def _matching(messages: Iterable[StoredMessage], pattern: re.Pattern[str]) -> Iterator[Fact]:
    for message in messages:
        if message.role in ("user", "assistant"):
            for sentence in sentences(text_of(message)):
                if pattern.search(sentence):
                    yield Fact(seq=message.seq, text=clip(sentence, _LINE_CHARACTERS))


def _task_list(messages: Sequence[StoredMessage]) -> Iterator[Fact]:
    """The unfinished entries of the newest task-list call."""
    for message in reversed(messages):
        for call in tool_calls(message):
            todos = call.arguments.get("todos", call.arguments.get("plan"))
            if isinstance(todos, list):
                yield from _unfinished(message.seq, todos)
                return


def _unfinished(seq: int, todos: Iterable[object]) -> Iterator[Fact]:
    for todo in todos:
        if isinstance(todo, dict) and todo.get("status") in ("pending", "in_progress"):
            text = todo.get("content") or todo.get("step") or ""
            yield Fact(seq=seq, text=clip(f"{todo['status']}: {text}", _LINE_CHARACTERS))


def _unanswered(tail: Sequence[StoredMessage]) -> Iterator[Fact]:
    if tail and tail[-1].role in ("user", "assistant"):
        asked = [sentence for sentence in sentences(text_of(tail[-1])) if sentence.endswith(("?", "？"))]
        yield from (Fact(seq=tail[-1].seq, text=clip(question, _LINE_CHARACTERS)) for question in asked)


def _distinct(facts: Iterable[Fact]) -> list[Fact]:
    """One fact per wording; the latest mention wins."""
    by_text = {fact.text.lower(): fact for fact in facts}
    return sorted(by_text.values(), key=lambda fact: fact.seq)
