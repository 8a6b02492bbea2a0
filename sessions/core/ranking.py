"""Orders candidate messages for a query: BM25 over stored terms and related words, neighbours, no doubles."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from sessions.core.related_words import closest, coded, related_among
from sessions.core.terms import DATED_FACET, PERSONAL_FACET, SPEAKER_FACET

# BM25's usual saturation and length constants.
K1, B = 1.2, 0.75
# A related word counts at most this much of the word itself.
RELATED_SHARE = 0.7
# A query word that the session never uses can only be met by related words: its weight is a guess.
UNSEEN_SHARE = 0.7
# How much a message gains when all it speaks of is what was asked, in units of BM25.
FOCUS_WEIGHT = 8.0
# Weight at which a query word is specific enough to focus on.
SPECIFIC_WEIGHT = 5.0
# Shares of a score that reach the next and the previous turns: an answer stands after what it answers.
NEIGHBOURS = {1: (0.54, 0.36), 2: (0.26, 0.18), 3: (0.12, 0.08)}
# Who is asked about, dated statements and statements in the first person are likelier to be the answer.
SPEAKER_GAIN, DATED_GAIN, PERSONAL_GAIN = 1.7, 1.2, 1.1
# Two messages that share this much of their words say the same.
DUPLICATE_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A message as search sees it: its stored terms, facets included, and what it costs to quote."""

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
        found = min(self.frequencies.get(term, 0), self.documents)
        return log(1 + (self.documents - found + 0.5) / (found + 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    score: float
    document: Document

    @property
    def seq(self) -> int:
        return self.document.seq


@dataclass(frozen=True, slots=True, kw_only=True)
class _Matches:
    """Which document terms answer which query terms and how well; what each known term tells."""

    weights: Sequence[float]
    links: Mapping[str, Sequence[tuple[int, float]]]
    nearness: Mapping[str, float]
    telling: Mapping[str, float]


def corpus_of(
    documents: Collection[Document], *, total: int | None = None, known: Mapping[str, int] | None = None
) -> Corpus:
    """Statistics from the candidates, scaled to `total` messages where nothing better is known."""
    counted = Counter(term for document in documents for term in set(document.terms))
    terms = sum(len(document.terms) for document in documents)
    size = max(1, len(documents))
    everything = max(total or 0, len(documents))
    scaled = {term: max(1, n * everything // size) for term, n in counted.items()}
    return Corpus(
        documents=everything, average_terms=max(1.0, terms / size), frequencies=scaled | dict(known or {})
    )


def search_terms(query: Iterable[str], *, related: int = 8) -> list[str]:
    """What a database should look for: the query's own terms, then the words that are nearest to them."""
    own = list(dict.fromkeys(query))
    return list(dict.fromkeys([*own, *(other for term in own for other in closest(term, related))]))


def rarest_terms(terms: Iterable[str], corpus: Corpus, limit: int) -> list[str]:
    """The terms that exist, rarest first: the cheapest way to the best candidates."""
    known = [term for term in dict.fromkeys(terms) if corpus.frequencies.get(term)]
    return sorted(known, key=lambda term: (corpus.frequencies[term], term))[:limit]


def with_neighbours(seqs: Iterable[int]) -> list[int]:
    """The numbers of candidates and of the turns around them that ranking wants to see."""
    reach = max(NEIGHBOURS)
    return sorted({near for seq in seqs for near in range(seq - reach, seq + reach + 1) if near > 0})


def rank(documents: Sequence[Document], query: Sequence[str], corpus: Corpus) -> list[Ranked]:
    """Best first; documents are candidates and their neighbours, in any order.

    The corpus may know the query's terms alone; the documents then tell how common the others are.
    """
    local = corpus_of(documents, total=corpus.documents, known=corpus.frequencies)
    whole = replace(corpus, frequencies=local.frequencies)
    matches = _matches(query, coded(local.frequencies), whole)
    own = {document.seq: _own_score(document, matches, whole.average_terms) for document in documents}
    asked = frozenset(SPEAKER_FACET + term for term in query)
    ranked = [Ranked(score=_score(document, own, asked), document=document) for document in documents]
    return sorted((r for r in ranked if r.score > 0), key=lambda r: (-r.score, -r.document.seq))


def select(
    ranked: Iterable[Ranked],
    budget_tokens: int,
    *,
    already: Collection[int] = (),
    overhead_tokens: int = 0,
) -> list[int]:
    """Sequence numbers of the best that fit together, without doubles, in the order of the session."""
    left = budget_tokens
    chosen: dict[int, frozenset[str]] = {}
    for document in (entry.document for entry in ranked):
        tokens = document.tokens + overhead_tokens
        if document.seq in already or tokens > left:
            continue
        terms = frozenset(document.terms)
        if not _is_double(terms, chosen.values()):
            chosen[document.seq] = terms
            left -= tokens
    return sorted(chosen)


def _matches(query: Sequence[str], vocabulary: Mapping[str, int], corpus: Corpus) -> _Matches:
    telling = {term: corpus.weight(term) for term in vocabulary}
    weights = [corpus.weight(t) * (1 if corpus.frequencies.get(t) else UNSEEN_SHARE) for t in query]
    links: dict[str, list[tuple[int, float]]] = {}
    nearness: dict[str, float] = {}
    for position, (term, weight) in enumerate(zip(query, weights, strict=True)):
        specific = min(1.0, weight / SPECIFIC_WEIGHT)
        for other, near in related_among(term, vocabulary).items():
            # A common word is no good substitute for a rare one.
            share = RELATED_SHARE * near * min(1.0, telling[other] / weight)
            links.setdefault(other, []).append((position, share))
            nearness[other] = max(nearness.get(other, 0.0), near * specific)
        links.setdefault(term, []).append((position, 1.0))
        nearness[term] = max(nearness.get(term, 0.0), specific)
    return _Matches(weights=weights, links=links, nearness=nearness, telling=telling)


def _own_score(document: Document, matches: _Matches, average_terms: float) -> float:
    length = K1 * (1 - B + B * len(document.terms) / max(1.0, average_terms))
    best = [0.0] * len(matches.weights)
    spoken = near = 0.0
    for term, n in Counter(document.terms).items():
        weight = matches.telling.get(term, 0.0)
        spoken += weight
        if term in matches.links:
            near += weight * matches.nearness[term]
            for position, share in matches.links[term]:
                best[position] = max(best[position], share * n * (K1 + 1) / (n + length))
    matched = sum(weight * share for weight, share in zip(matches.weights, best, strict=True))
    return matched + (FOCUS_WEIGHT * near / spoken if spoken else 0.0)


def _score(document: Document, own: Mapping[int, float], asked: frozenset[str]) -> float:
    score = own[document.seq]
    for distance, (from_before, from_after) in NEIGHBOURS.items():
        score += from_before * own.get(document.seq - distance, 0.0)
        score += from_after * own.get(document.seq + distance, 0.0)
    score *= SPEAKER_GAIN if not asked.isdisjoint(document.terms) else 1.0
    score *= DATED_GAIN if DATED_FACET in document.terms else 1.0
    return score * (PERSONAL_GAIN if PERSONAL_FACET in document.terms else 1.0)


def _is_double(terms: frozenset[str], chosen: Iterable[frozenset[str]]) -> bool:
    """Whether nearly all of the words stand in one of the chosen already."""
    longest = len(terms) / DUPLICATE_SHARE
    shortest = max(1.0, len(terms) * DUPLICATE_SHARE)
    return any(
        len(terms & other) >= DUPLICATE_SHARE * len(terms | other)
        for other in chosen
        if shortest <= len(other) <= longest
    )
