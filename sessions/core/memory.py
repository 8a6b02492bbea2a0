"""Finds what is worth remembering: facts, preferences, decisions, errors with resolutions, active files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sessions.core.message import StoredMessage
from sessions.core.reading import text_of, tool_calls
from sessions.core.scratch import modified_paths
from sessions.core.steps import clip
from sessions.core.summary import facts
from sessions.core.summary.units import sentences

MemoryKind = Literal["fact", "preference", "decision", "error", "file"]

_TEXT_CHARACTERS = 240
_PRIORITIES: dict[MemoryKind, int] = {"preference": 80, "fact": 70, "decision": 60, "file": 50, "error": 40}

# The first group is what the sentence is about: a later sentence about the same replaces this one.
_FACTS = (
    re.compile(r"\b((?:my|our) [\w' -]{2,40}?) (?:is|are|was|were) (?!not sure)", re.IGNORECASE),
    re.compile(
        r"\b((?:I|we) (?:live in|work (?:at|as|for|on)|come from|run on|use|deploy (?:to|on)|am (?:a|an) ))"
    ),
    re.compile(r"\b(I'm (?:a|an|from) )"),
    re.compile(
        r"\b((?:the|this) [\w' -]{2,40}?) (?:runs on|lives (?:in|at)|is called|is named|is located)\b", re.I
    ),
    re.compile(r"\b(call me|name's)\b", re.IGNORECASE),
)
# A standing wish; a plain "please do it" is a request and stands in the summary.
_PREFERENCES = (
    re.compile(
        r"\bI (?:really |strongly |always |usually |do not |don't )?(?:prefer|like|love|hate|dislike) ",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:always|never|from now on|whenever|every time|by default)\b", re.IGNORECASE),
    re.compile(r"^(?:please )?(?:avoid|make sure to|remember to|don't ever|do not ever) ", re.IGNORECASE),
)
_PREFERENCE_TOPIC = re.compile(r"\bprefer\b.{1,80}?\b(?:for|when|in) ((?:\w+ ?){1,3})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCandidate:
    """One thing to remember; a candidate with the same key replaces an older one."""

    kind: MemoryKind
    text: str
    priority: int
    source_seq: int
    key: str


def extract_memory(messages: Sequence[StoredMessage]) -> list[MemoryCandidate]:
    """Candidates in the order in which they were last said, each key once."""
    found = [
        *_said(messages),
        *(_candidate("decision", fact, fact.text) for fact in facts.decisions(messages)),
        *(_candidate("error", fact, fact.text.rsplit(" (", 1)[0]) for fact in facts.errors(messages)),
        *_files(messages),
    ]
    latest: dict[str, MemoryCandidate] = {}
    for candidate in sorted(found, key=lambda candidate: candidate.source_seq):
        latest.pop(candidate.key, None)
        latest[candidate.key] = candidate
    return list(latest.values())


def _said(messages: Iterable[StoredMessage]) -> Iterator[MemoryCandidate]:
    for message in messages:
        for sentence in sentences(text_of(message)) if message.is_human else ():
            if not sentence.endswith("?"):
                yield from _statement(facts.Fact(seq=message.seq, text=clip(sentence, _TEXT_CHARACTERS)))


def _statement(fact: facts.Fact) -> Iterator[MemoryCandidate]:
    subject = next((found.group(1) for pattern in _FACTS if (found := pattern.search(fact.text))), None)
    if subject is not None:
        yield _candidate("fact", fact, subject)
    elif any(pattern.search(fact.text) for pattern in _PREFERENCES):
        topic = _PREFERENCE_TOPIC.search(fact.text)
        yield _candidate("preference", fact, topic.group(1) if topic else fact.text)


def _files(messages: Iterable[StoredMessage]) -> Iterator[MemoryCandidate]:
    """Files that were changed, with the sentence that announced the change as their purpose."""
    for message in messages:
        purpose = next(iter(sentences(text_of(message))), "")
        for call in tool_calls(message):
            for path in modified_paths(call):
                text = f"{path}: {purpose}" if purpose else f"{path} ({call.name})"
                yield _candidate("file", facts.Fact(seq=message.seq, text=clip(text, _TEXT_CHARACTERS)), path)


def _candidate(kind: MemoryKind, fact: facts.Fact, subject: str) -> MemoryCandidate:
    key = f"{kind}:{' '.join(subject.lower().split())}"
    return MemoryCandidate(
        kind=kind, text=fact.text, priority=_PRIORITIES[kind], source_seq=fact.seq, key=key[:_TEXT_CHARACTERS]
    )
