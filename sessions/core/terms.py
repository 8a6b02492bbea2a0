"""Normalised search terms of a text: made once, at append, and equal on every database."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice

from sessions.core.english import FIRST_PERSON, STOP_WORDS, TIME_EXPRESSION
from sessions.core.stemming import stem

CHUNK_BYTES = 100_000
MAX_TERM_CHARACTERS = 64
MAX_PARTS = 12
MAX_DOCUMENT_TERMS = 50_000

# No word starts with a colon, so no text can pretend to have a facet.
PERSONAL_FACET, DATED_FACET, SPEAKER_FACET = ":i", ":when", ":by:"

# Separators join a compound (path, e-mail, version, identifier); they never stand inside a part, so the
# pattern is linear on any input.
_TOKEN = re.compile(r"[\w'’]+(?:[-./:@\\+#&=~]+[\w'’]+)*")
_PART = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_SPEAKER_LABEL = re.compile(r"([^\W\d_][\w.'-]{0,30}(?: [\w.'-]{1,30}){0,2}):\s")
_ASCII_TERM = re.compile(r"[a-z0-9]+\Z")


def document_terms(text: str, *, speaker: str = "") -> list[str]:
    """The words of a text and, after them, its facets."""
    return [*word_terms(text), *facets(text, speaker=speaker)]


def facets(text: str, *, speaker: str = "") -> list[str]:
    """What a text is rather than what it says: who speaks, of oneself or not, with a time or without."""
    speakers = word_terms(speaker or speaker_label(text))
    found = [SPEAKER_FACET + term for term in speakers]
    if FIRST_PERSON.search(text):
        found.append(PERSONAL_FACET)
    if TIME_EXPRESSION.search(text):
        found.append(DATED_FACET)
    return found


def speaker_label(text: str) -> str:
    """Who speaks, where a transcript says so: `Ana: hello` is Ana's."""
    label = _SPEAKER_LABEL.match(text)
    return label.group(1) if label else ""


def word_terms(text: str) -> list[str]:
    """Terms in reading order; a compound gives itself and then its parts."""
    normal = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    terms = (term for match in _TOKEN.finditer(normal) for term in _token_terms(match.group()))
    return list(islice(terms, MAX_DOCUMENT_TERMS))


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query, in order of first appearance."""
    return list(dict.fromkeys(word_terms(text)))


def term_chunks(terms: Iterable[str]) -> list[str]:
    """Index tokens joined by spaces, in chunks that stay below the engines' limits."""
    chunks: list[str] = []
    current: list[str] = []
    size = 0
    for token in map(index_token, terms):
        if size + len(token) + 1 > CHUNK_BYTES:
            chunks.append(" ".join(current))
            current, size = [], 0
        current.append(token)
        size += len(token) + 1
    return [*chunks, " ".join(current)] if current else chunks


def index_token(term: str) -> str:
    """The form that a database may index: plain ASCII letters and digits, whatever its own tokenizer does."""
    if _ASCII_TERM.match(term):
        return term
    return "x9" + blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _token_terms(token: str) -> Iterator[str]:
    if _CJK.search(token):
        yield from _cjk_terms(token)
        return
    parts = _parts(token)
    if len(parts) > 1:
        yield _bounded(token.lower())
    for part in parts[:MAX_PARTS]:
        yield from _word_terms(part)


def _parts(token: str) -> list[str]:
    words = _PART.findall(token)
    if "'" in token or "’" in token:
        return words
    return [part for word in words for part in (_CAMEL.findall(word) if _is_camel(word) else [word])]


def _is_camel(word: str) -> bool:
    return not word.islower() and not word.isupper() and not word.istitle() and not word[1:].islower()


def _word_terms(word: str) -> Iterator[str]:
    lowered = word.lower().replace("’", "'").split("'")[0]
    if not lowered or lowered in STOP_WORDS:
        return
    term = _bounded(stem(lowered) if lowered.isascii() and lowered.isalpha() else lowered)
    yield term
    if not term.isascii():
        folded = _without_accents(term)
        if folded != term:
            yield folded


def _cjk_terms(token: str) -> Iterator[str]:
    for run in _CJK.findall(token):
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
    for word in _PART.findall(_CJK.sub(" ", token)):
        yield from _word_terms(word)


def _without_accents(term: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", term) if not unicodedata.combining(c))


def _bounded(term: str) -> str:
    return term[:MAX_TERM_CHARACTERS]
