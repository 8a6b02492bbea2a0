"""How much a piece of conversation tells: events, names, dates and answers weigh, small talk does not."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from math import exp, log

from sessions.core.english import FIRST_PERSON, PAST_FORMS, SECOND_PERSON, SMALL_TALK, TIME_EXPRESSION
from sessions.core.terms import speaker_label

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCE = re.compile(r"[^.!?]+[.!?]*")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+")
_MAX_NAMES = 3
_MAX_SHARE = 0.2
# Every piece costs its reader a little, however short it is.
_EXTRA_TOKENS = 8
_EXTRA_WORDS = 8


@dataclass(frozen=True, slots=True)
class Traits:
    """What a piece looks like; each trait has its weight of the same name."""

    rarity: float
    novelty: float
    length: float
    is_dated: float
    is_personal: float
    answers: float
    questions: float
    names: float
    small_talk: float
    past: float
    second_person: float


# Fitted on long dialogues (log-linear, one dialogue left out at a time), then rounded.
WEIGHTS = Traits(
    rarity=0.5,
    novelty=0.5,
    length=0.3,
    is_dated=0.8,
    is_personal=0.35,
    answers=0.5,
    questions=-0.7,
    names=0.35,
    small_talk=-2.0,
    past=3.0,
    second_person=-5.0,
)


def salience(texts: Sequence[str], terms: Sequence[Sequence[str]], tokens: Sequence[int]) -> list[float]:
    """Expected worth per token of each piece, in the order given, which is that of the conversation."""
    weights = astuple(WEIGHTS)
    return [
        exp(sum(w * t for w, t in zip(weights, astuple(traits), strict=True))) / (cost + _EXTRA_TOKENS)
        for traits, cost in zip(traits_of(texts, terms), tokens, strict=True)
    ]


def traits_of(texts: Sequence[str], terms: Sequence[Sequence[str]]) -> list[Traits]:
    weights = _inverse_frequencies(terms)
    labels = {label for text in texts if (label := speaker_label(text))}
    speakers = frozenset(word for label in labels for word in label.split())
    seen: set[str] = set()
    found: list[Traits] = []
    before = ""
    for text, piece_terms in zip(texts, terms, strict=True):
        distinct = set(piece_terms)
        spoken = text.removeprefix(f"{speaker_label(text)}:").strip()
        found.append(_traits(spoken, distinct, distinct - seen, weights, speakers, "?" in before))
        seen |= distinct
        before = text
    return found


def _traits(
    text: str,
    terms: Iterable[str],
    new_terms: Iterable[str],
    weights: dict[str, float],
    speakers: frozenset[str],
    answers: bool,
) -> Traits:
    words = [word.lower() for word in _WORD.findall(text)]
    size = len(text.split()) + 1
    sentences = _SENTENCE.findall(text) or [text]
    names = [name for name in _NAME.findall(text) if name not in speakers]
    return Traits(
        rarity=sum(weights[term] for term in terms) / (size + _EXTRA_WORDS),
        novelty=sum(weights[term] for term in new_terms) / (size + _EXTRA_WORDS),
        length=log(size),
        is_dated=float(TIME_EXPRESSION.search(text) is not None),
        is_personal=float(FIRST_PERSON.search(text) is not None),
        answers=float(answers),
        questions=sum(sentence.endswith("?") for sentence in sentences) / len(sentences),
        names=float(min(_MAX_NAMES, len(names))),
        small_talk=sum(word in SMALL_TALK for word in words) / size,
        past=min(_MAX_SHARE, sum(word.endswith("ed") or word in PAST_FORMS for word in words) / size),
        second_person=min(_MAX_SHARE, len(SECOND_PERSON.findall(text)) / size),
    )


def _inverse_frequencies(terms: Sequence[Sequence[str]]) -> dict[str, float]:
    frequencies = Counter(term for piece in terms for term in set(piece))
    total = len(terms)
    return {term: log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in frequencies.items()}
