"""What the fill strategies of text sections share: what they are asked and what they answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from budgets.core.policy import SectionPolicy
from sessions.core.blocks import block
from sessions.core.message import Hit, MemoryItem
from sessions.core.request import Cut, Ruler

_ATTEMPTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAsk:
    """`room` is the section's share with what it may borrow, `hard_room` what the window gives at most."""

    section: SectionPolicy
    room: int
    hard_room: int
    ruler: Ruler
    text: str = ""
    memory: Sequence[MemoryItem] = ()
    hits: Sequence[Hit] = ()

    @property
    def words(self) -> int | None:
        return self.section.size.amount if self.section.size.kind == "words" else None

    def cost(self, text: str) -> int:
        written = block(self.section.name, text)
        return self.ruler.count(written) if written else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The content of one section without its heading; `tokens` counts the heading too."""

    text: str = ""
    tokens: int = 0
    kept: int = 0
    dropped: int = 0
    cuts: tuple[Cut, ...] = ()


def cut_text(ask: TextAsk, text: str) -> str:
    """The longest beginning that fits with its heading, by words where the section says so."""
    if ask.words is not None:
        text = cut_words(text, ask.words)
    if ask.cost(text) <= ask.room:
        return text
    room = ask.room - ask.cost(".")
    for _ in range(_ATTEMPTS):
        shorter = ask.ruler.cut(text, room) if room > 0 else ""
        over = ask.cost(shorter) - ask.room
        if over <= 0:
            return shorter
        room -= over
    return ""


def clip_text(ask: TextAsk, text: str) -> str:
    """The beginning of a text with a visible mark, empty when not even that fits."""
    mark = f"\n[clipped: {ask.ruler.count(text):,} tokens in full]"
    room = ask.room - ask.cost(mark)
    for _ in range(_ATTEMPTS):
        shorter = ask.ruler.cut(text, room) if room > 0 else ""
        over = ask.cost(shorter + mark) - ask.room
        if shorter and over <= 0:
            return shorter + mark
        room -= max(1, over)
    return ""


def cut_words(text: str, limit: int) -> str:
    """The first words with their spacing (D5)."""
    words = islice(re.finditer(r"\S+", text), max(0, limit - 1), limit + 1)
    last = next(words, None)
    if limit <= 0:
        return ""
    return text[: last.end()] if last and next(words, None) else text
