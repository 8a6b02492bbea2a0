"""Search over the messages of a session: by the index as far as it reaches, by reading what came since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kernel.rows import batched
from sessions.core.ranking import Corpus, Document, Ranked, rank, search_terms, with_neighbours
from sessions.core.terms import query_terms
from sessions.models import AgentSession, ArchiveDocument, ArchiveIndex, ArchiveTerm, Message
from sessions.services.archive import terms_of
from sessions.services.frames import Frame
from sessions.services.store import stored_messages

# Jobs index what comes in; what they have not reached yet is read, the newest of it.
MAX_UNINDEXED = 1_000
MAX_CANDIDATES = 400
MAX_QUERY_TERMS = 64
MAX_SEARCH_TERMS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Documents to rank, and what is known about all that could have been found."""

    documents: Sequence[Document]
    total: int
    terms: int
    frequencies: Mapping[str, int]


def search(session: AgentSession, frame: Frame, query: str) -> list[Ranked]:
    """Best first. The cost depends on the query, not on the session's length."""
    wanted = query_terms(query)[:MAX_QUERY_TERMS]
    if not wanted:
        return []
    index = ArchiveIndex.objects.filter(session_id=session.pk).first()
    looked_for = search_terms(wanted)[:MAX_SEARCH_TERMS]
    parts = [_unindexed(session, frame, looked_for, after=index.indexed_to_seq if index else 0)]
    if index is not None:
        parts.append(_indexed(session, index, looked_for, wanted))
    total = sum(part.total for part in parts)
    corpus = Corpus(
        documents=max(1, total),
        average_terms=max(1.0, sum(part.terms for part in parts) / max(1, total)),
        frequencies=sum((Counter(part.frequencies) for part in parts), Counter()),
    )
    return rank([document for part in parts for document in part.documents], wanted, corpus)


def search_messages(session: AgentSession, frame: Frame, query: str, *, limit: int) -> list[Message]:
    best = [row.seq for row in search(session, frame, query)][:limit]
    rows = {row.seq: row for row in Message.objects.filter(session=session, seq__in=best)}
    return [rows[seq] for seq in best if seq in rows]


def _indexed(
    session: AgentSession, index: ArchiveIndex, looked_for: Sequence[str], wanted: Collection[str]
) -> _Found:
    rows = ArchiveTerm.objects.filter(session=session, term__in=looked_for)
    postings = {term: (count, seqs) for term, count, seqs in rows.values_list("term", "documents", "seqs")}
    around = with_neighbours(_candidates(postings, wanted))
    documents = [
        Document(seq=seq, terms=_split(terms), tokens=0)
        for chunk in batched(around, 500)
        for seq, terms in ArchiveDocument.objects.filter(session=session, seq__in=chunk).values_list(
            "seq", "terms"
        )
    ]
    return _Found(
        documents=documents,
        total=index.documents,
        terms=index.total_terms,
        frequencies={term: count for term, (count, _) in postings.items()},
    )


def _candidates(postings: Mapping[str, tuple[int, list[int]]], wanted: Collection[str]) -> set[int]:
    """The query's own terms first, the rarest before the others, until there are enough to rank."""
    chosen: set[int] = set()
    for term in sorted(postings, key=lambda term: (term not in wanted, postings[term][0], term)):
        room = MAX_CANDIDATES - len(chosen)
        if room <= 0:
            break
        chosen.update(postings[term][1][-room:])
    return chosen


def _unindexed(session: AgentSession, frame: Frame, looked_for: Sequence[str], *, after: int) -> _Found:
    if session.head_seq <= after:
        return _Found(documents=(), total=0, terms=0, frequencies={})
    rows = Message.objects.filter(session=session, seq__gt=after).order_by("-seq")[:MAX_UNINDEXED]
    documents = [
        Document(seq=message.seq, terms=terms_of(message), tokens=0)
        for message in stored_messages(rows, frame)
    ]
    known = set(looked_for)
    return _Found(
        documents=documents,
        total=len(documents),
        terms=sum(len(document.terms) for document in documents),
        frequencies=Counter(term for document in documents for term in known.intersection(document.terms)),
    )


@lru_cache(maxsize=4_096)
def _split(terms: str) -> list[str]:
    """The same documents are found again by the next query."""
    return terms.split(" ")
