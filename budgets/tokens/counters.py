"""Counters: how many tokens, words or line-estimated tokens a text has, and how sure that number is."""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol

from budgets.tokens.errors import UnknownTokenizer
from budgets.tokens.families import FAMILIES
from budgets.tokens.pieces import PIECE_CHARS, encodable, pieces
from budgets.tokens.vocabularies import VOCABULARIES, encoding

# counted: by the model's own vocabulary; calibrated: corrected by reported usage; estimated: neither.
Source = Literal["counted", "calibrated", "estimated"]

FULL_BP = 10_000
GENEROUS_TOKEN_CHARS = 8


class Counter(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def source(self) -> Source: ...

    def count(self, text: str) -> int: ...

    def low(self, n: int) -> int: ...

    def high(self, n: int) -> int: ...

    def prefix(self, text: str, limit: int) -> str:
        """The longest prefix found whose count is at most the limit; deterministic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VocabularyCounter:
    """Counts with a shipped vocabulary."""

    name: str
    source: Source = "counted"

    def count(self, text: str) -> int:
        encode = encoding(self.name).encode_ordinary
        text = encodable(text)
        if len(text) <= PIECE_CHARS:
            return len(encode(text))
        return sum(len(encode(piece)) for piece in pieces(text))

    def low(self, n: int) -> int:
        return n

    def high(self, n: int) -> int:
        return n

    def prefix(self, text: str, limit: int) -> str:
        if limit <= 0:
            return ""
        # Most text fills the limit within this head; only sparser text is read further.
        head = text[: limit * GENEROUS_TOKEN_CHARS]
        cut = self._prefix(head, limit)
        return cut if len(cut) < len(head) or head == text else self._prefix(text, limit)

    def _prefix(self, text: str, limit: int) -> str:
        encode = encoding(self.name).encode_ordinary
        left, end = limit, 0
        for piece in pieces(encodable(text)):
            tokens = encode(piece)
            if len(tokens) > left:
                return text[: end + self._fitting_chars(piece, tokens, left)]
            left -= len(tokens)
            end += len(piece)
        return text

    def _fitting_chars(self, piece: str, tokens: list[int], left: int) -> int:
        # A cut piece may tokenise differently at its new end, so every candidate is counted again.
        vocabulary = encoding(self.name)
        for kept in range(left, 0, -1):
            chars = len(vocabulary.decode_bytes(tokens[:kept]).decode("utf-8", "ignore"))
            if len(vocabulary.encode_ordinary(piece[:chars])) <= left:
                return chars
        return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ScaledCounter:
    """A vocabulary's count times a ratio, with a margin on both sides."""

    name: str
    source: Source
    base: VocabularyCounter
    ratio_bp: int
    margin_bp: int

    def count(self, text: str) -> int:
        return _share_up(self.base.count(text), self.ratio_bp)

    def low(self, n: int) -> int:
        return n * max(0, FULL_BP - self.margin_bp) // FULL_BP

    def high(self, n: int) -> int:
        return _share_up(n, FULL_BP + self.margin_bp)

    def prefix(self, text: str, limit: int) -> str:
        return self.base.prefix(text, limit * FULL_BP // self.ratio_bp)


@dataclass(frozen=True, kw_only=True, slots=True)
class WordCounter:
    """Counts whitespace-separated words."""

    name: str = "words"
    source: Source = "counted"

    def count(self, text: str) -> int:
        return len(text.split())

    def low(self, n: int) -> int:
        return n

    def high(self, n: int) -> int:
        return n

    def prefix(self, text: str, limit: int) -> str:
        return cut_to_words(text, limit)


# Seed table of the checkpoint protocol: about 4, 5 and 6 tokens a line; images are not counted.
MARKDOWN_LINE_TOKENS = 4
LINE_TOKENS = {"markdown": MARKDOWN_LINE_TOKENS, "code": 5, "xml": 6, "json": 6, "image": 0}
LINE_MARGIN_BP = 5_000
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class LineCounter:
    """Estimates tokens from lines, blank ones included, where no tokenizer is wanted."""

    content_type: str = "markdown"
    source: Source = "estimated"

    @property
    def name(self) -> str:
        return f"lines:{self.content_type}"

    @property
    def line_tokens(self) -> int:
        return LINE_TOKENS.get(_content_kind(self.content_type), MARKDOWN_LINE_TOKENS)

    def count(self, text: str) -> int:
        ends = sum(1 for _ in _LINE_END.finditer(text))
        unfinished = bool(text) and not text.endswith(("\n", "\r"))
        return (ends + unfinished) * self.line_tokens

    def low(self, n: int) -> int:
        return n * (FULL_BP - LINE_MARGIN_BP) // FULL_BP

    def high(self, n: int) -> int:
        return _share_up(n, FULL_BP + LINE_MARGIN_BP)

    def prefix(self, text: str, limit: int) -> str:
        if self.line_tokens == 0 or self.count(text) <= limit:
            return text
        lines = max(0, limit) // self.line_tokens
        ends = [match.end() for match in islice(_LINE_END.finditer(text), lines)]
        return text[: ends[-1]] if ends else ""


def counter_for(tokenizer: str, ratio_bp: int = FULL_BP, margin_bp: int = 0) -> Counter:
    """The counter of a tokenizer; a learned ratio corrects its own count, a learned margin bounds it."""
    if tokenizer == "words":
        return WordCounter()
    if tokenizer == "lines" or tokenizer.startswith("lines:"):
        return LineCounter(tokenizer.partition(":")[2] or "markdown")
    learned = (ratio_bp, margin_bp) != (FULL_BP, 0)
    if tokenizer in VOCABULARIES and not learned:
        return VocabularyCounter(name=tokenizer)
    return _scaled_counter(tokenizer, ratio_bp, margin_bp, learned)


def _scaled_counter(tokenizer: str, ratio_bp: int, margin_bp: int, learned: bool) -> ScaledCounter:
    if ratio_bp <= 0 or margin_bp < 0:
        raise ValueError(f"A ratio must be above 0 and a margin not below: {ratio_bp}, {margin_bp}.")
    if tokenizer not in FAMILIES:
        raise UnknownTokenizer(f"There is no tokenizer {tokenizer!r}; known are {', '.join(FAMILIES)}.")
    family = FAMILIES[tokenizer]
    return ScaledCounter(
        # Counts are kept by name: those of another ratio are other counts.
        name=tokenizer if ratio_bp == FULL_BP else f"{tokenizer}@{ratio_bp}",
        source="calibrated" if learned else "estimated",
        base=VocabularyCounter(name=family.vocabulary),
        ratio_bp=_share_up(family.ratio_bp, ratio_bp),
        margin_bp=margin_bp if learned else family.margin_bp,
    )


def cut_to_words(text: str, limit: int) -> str:
    """The first words with their spacing; the text itself when it has no more than that."""
    if limit <= 0:
        return ""
    words = islice(re.finditer(r"\S+", text), limit - 1, limit + 1)
    last = next(words, None)
    return text[: last.end()] if last and next(words, None) else text


def cut_to_tokens(counter: Counter, text: str, limit: int) -> str:
    """A prefix of the text that the counter counts at no more than the limit."""
    return counter.prefix(text, limit)


def _share_up(amount: int, share_bp: int) -> int:
    return -(-amount * share_bp // FULL_BP)


def _content_kind(content_type: str) -> str:
    """markdown, code, xml, json or image from a plain name or a MIME type."""
    kind = content_type.strip().lower()
    if kind.startswith("image"):
        return "image"
    return re.split(r"[/+;]", kind.partition(";")[0])[-1]
