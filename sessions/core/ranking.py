"""Orders candidate messages for a query: BM25 over stored terms, with neighbours, recency and no doubles."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

K1, B = 1.2, 0.75
# How much of a hit's score reaches the turns at this distance: answers stand beside what they answer.
NEIGHBOUR_SHARES = {1: 0.5, 2: 0.2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A message as search sees it; `terms` in reading order."""

    seq: int
    terms: Sequence[str]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Statistics of everything that could have been a candidate."""

    documents: int
    average_terms: float
    frequencies: Mapping[str, int]

    def weight(self, term: str) -> float:
        """How much a term tells: its inverse document frequency."""
        found = self.frequencies.get(term, 0)
        return log(1 + (self.documents - found + 0.5) / (found + 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    seq: int
    score: float
    tokens: int


def corpus_of(documents: Sequence[Document]) -> Corpus:
    """The statistics of a set that is small enough to be counted on the spot."""
    frequencies = Counter(term for document in documents for term in set(document.terms))
    total = sum(len(document.terms) for document in documents)
    return Corpus(
        documents=len(documents), average_terms=total / max(1, len(documents)), frequencies=frequencies
    )


def rarest_terms(terms: Iterable[str], corpus: Corpus, limit: int) -> list[str]:
    """The query terms by which a database should look for candidates."""
    known = [term for term in dict.fromkeys(terms) if corpus.frequencies.get(term)]
    return sorted(known, key=lambda term: (corpus.frequencies[term], term))[:limit]


def rank(documents: Sequence[Document], query: Sequence[str], corpus: Corpus) -> list[Ranked]:
    """Best first; documents are candidates and their neighbours, in any order."""
    own = {document.seq: _bm25(document, query, corpus) for document in documents}
    ranked = [
        Ranked(seq=document.seq, score=_with_neighbours(document.seq, own), tokens=document.tokens)
        for document in documents
    ]
    return sorted((r for r in ranked if r.score > 0), key=lambda r: (-r.score, -r.seq))


def select(ranked: Iterable[Ranked], budget_tokens: int, *, already: Iterable[int] = ()) -> list[int]:
    """Sequence numbers of the best that fit together, in the order of the session."""
    left = budget_tokens
    taken = set(already)
    chosen: list[int] = []
    for entry in ranked:
        if entry.seq not in taken and entry.tokens <= left:
            taken.add(entry.seq)
            chosen.append(entry.seq)
            left -= entry.tokens
    return sorted(chosen)


def _bm25(document: Document, query: Sequence[str], corpus: Corpus) -> float:
    found = Counter(document.terms)
    length = K1 * (1 - B + B * len(document.terms) / max(1.0, corpus.average_terms))
    hits = ((corpus.weight(term), found[term]) for term in query if term in found)
    return sum(weight * n * (K1 + 1) / (n + length) for weight, n in hits)


def _with_neighbours(seq: int, own: Mapping[int, float]) -> float:
    leaked = (
        share * (own.get(seq - distance, 0.0) + own.get(seq + distance, 0.0))
        for distance, share in NEIGHBOUR_SHARES.items()
    )
    return own[seq] + sum(leaked)
