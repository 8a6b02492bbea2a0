"""Cuts messages into the pieces that a summary may quote, and weighs how much each of them says."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sessions.core.message import StoredMessage
from sessions.core.reading import text_of
from sessions.core.summary.salience import salience
from sessions.core.terms import word_terms

# A message up to this length is quoted whole or not at all; a longer one sentence by sentence.
WHOLE_MESSAGE_CHARACTERS = 600
_SENTENCE_CHARACTERS = 500
_MAX_SENTENCES = 60

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")

Count = Callable[[str], int]
Piece = tuple[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A quotable piece; `order` is its place in the conversation, `tokens` includes the line break."""

    order: int
    seq: int
    text: str
    terms: tuple[str, ...]
    tokens: int


def units_of(pieces: Iterable[Piece], count: Count) -> list[Unit]:
    return [
        Unit(order=order, seq=seq, text=text, terms=tuple(word_terms(text)), tokens=count(text) + 1)
        for order, (seq, text) in enumerate(pieces)
    ]


def message_pieces(messages: Iterable[StoredMessage]) -> list[Piece]:
    """Short messages whole, long ones sentence by sentence; what tools printed is not quoted."""
    return [(m.seq, piece) for m in messages if m.role in ("user", "assistant") for piece in _quotable(m)]


def sentence_pieces(messages: Iterable[StoredMessage]) -> list[Piece]:
    spoken = (m for m in messages if m.role in ("user", "assistant"))
    return [(m.seq, sentence) for m in spoken for sentence in sentences(text_of(m))]


def by_salience(units: Sequence[Unit]) -> list[Unit]:
    """What tells most per token first; units come in the order of the conversation."""
    texts, terms, tokens = [u.text for u in units], [u.terms for u in units], [u.tokens for u in units]
    worth = salience(texts, terms, tokens)
    return [
        unit
        for _, unit in sorted(zip(worth, units, strict=True), key=lambda pair: (-pair[0], -pair[1].order))
    ]


def sentences(text: str) -> list[str]:
    pieces = (one_line(piece)[:_SENTENCE_CHARACTERS] for piece in _SENTENCE_END.split(text))
    return [piece for piece in pieces if len(piece) > 1][:_MAX_SENTENCES]


def one_line(text: str) -> str:
    return " ".join(text.split())


def _quotable(message: StoredMessage) -> list[str]:
    text = text_of(message)
    whole = len(text) <= WHOLE_MESSAGE_CHARACTERS
    mark = "> " if message.is_human else ""
    return [mark + piece for piece in ([one_line(text)] if whole else sentences(text)) if piece]
