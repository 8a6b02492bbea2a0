"""The archive: folded messages stay findable by the words that they contain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction

from kernel.jobs import queue as jobs
from sessions.core.message import body_text
from sessions.core.ranking import Corpus, Document, Ranked, rank
from sessions.core.reading import tool_calls
from sessions.core.terms import document_terms, query_terms
from sessions.models import AgentSession, ArchiveDocument, ArchiveIndex, ArchiveTerm, Message
from sessions.services.frames import Frame
from sessions.services.store import stored_message

INDEX_JOB = "index_archive"
# Short transactions: appends go on between them.
MESSAGES_PER_STEP = 100
# A term in more messages than this tells nothing about any of them; only its count goes on.
MAX_POSTINGS = 2_000
MAX_CANDIDATES = 600
NEIGHBOURS = (-2, -1, 1, 2)
MAX_QUERY_TERMS = 64


def index_up_to(session: AgentSession, frame: Frame, to_seq: int) -> None:
    """Indexes what is not indexed yet; safe to run twice at once and after a crash."""
    while _index_step(session, frame, to_seq):
        pass


def request_indexing(session: AgentSession) -> None:
    """For folds that no compaction job stands behind."""
    jobs.enqueue(
        kind=INDEX_JOB,
        dedupe_key=f"{INDEX_JOB}:{session.pk}:{session.head_seq}",
        project_id=session.project_id,
        subject_id=session.pk,
        payload={"to_seq": session.base_seq},
    )


@transaction.atomic
def _index_step(session: AgentSession, frame: Frame, to_seq: int) -> bool:
    ArchiveIndex.objects.get_or_create(session_id=session.pk)
    index = ArchiveIndex.objects.select_for_update().get(session_id=session.pk)
    last = min(to_seq, index.indexed_to_seq + MESSAGES_PER_STEP)
    if last <= index.indexed_to_seq:
        return False
    rows = Message.objects.filter(session=session, seq__gt=index.indexed_to_seq, seq__lte=last).order_by(
        "seq"
    )
    documents = [(row.seq, _terms_of(row, frame)) for row in rows]
    ArchiveDocument.objects.bulk_create(
        ArchiveDocument(session=session, seq=seq, terms=" ".join(terms)) for seq, terms in documents
    )
    _add_postings(session, documents)
    index.indexed_to_seq = last
    index.documents += len(documents)
    index.total_terms += sum(len(terms) for _, terms in documents)
    index.save()
    return last < to_seq


def _terms_of(row: Message, frame: Frame) -> list[str]:
    message = stored_message(row, frame)
    calls = (f"{call.name} {call.raw}" for call in tool_calls(message))
    return document_terms("\n".join([body_text(message.body), *calls]))


def _add_postings(session: AgentSession, documents: Sequence[tuple[int, list[str]]]) -> None:
    found: dict[str, list[int]] = {}
    for seq, terms in documents:
        for term in set(terms):
            found.setdefault(term, []).append(seq)
    known = {
        row.term: row
        for chunk in _chunks(sorted(found), 500)
        for row in ArchiveTerm.objects.filter(session=session, term__in=chunk)
    }
    fresh = [
        ArchiveTerm(session=session, project_id=session.project_id, term=term, documents=len(seqs), seqs=seqs)
        for term, seqs in found.items()
        if term not in known
    ]
    ArchiveTerm.objects.bulk_create(fresh, batch_size=500)
    for term, row in known.items():
        row.documents += len(found[term])
        if len(row.seqs) < MAX_POSTINGS:
            row.seqs = row.seqs + found[term]
    ArchiveTerm.objects.bulk_update(known.values(), ["documents", "seqs"], batch_size=200)


def search(session: AgentSession, query: str) -> list[Ranked]:
    """Messages of one session, best first. The cost depends on the query, not on the session's length."""
    wanted = query_terms(query)[:MAX_QUERY_TERMS]
    index = ArchiveIndex.objects.filter(session_id=session.pk).first()
    if not wanted or index is None or not index.documents:
        return []
    rows = {row.term: row for row in ArchiveTerm.objects.filter(session=session, term__in=wanted)}
    candidates = _candidates(rows.values())
    around = {seq + step for seq in candidates for step in (0, *NEIGHBOURS)}
    documents = [
        Document(seq=row.seq, terms=row.terms.split(" "), tokens=0)
        for row in ArchiveDocument.objects.filter(session=session, seq__in=around)
    ]
    corpus = Corpus(
        documents=index.documents,
        average_terms=index.total_terms / index.documents,
        frequencies={term: row.documents for term, row in rows.items()},
    )
    return rank(documents, wanted, corpus)


def _candidates(rows: Iterable[ArchiveTerm]) -> set[int]:
    """The rarest terms first, until there are enough candidates to rank; the newest of a common term."""
    chosen: set[int] = set()
    for row in sorted(rows, key=lambda row: (row.documents, row.term)):
        room = MAX_CANDIDATES - len(chosen)
        if room <= 0:
            break
        chosen.update(row.seqs[-room:])
    return chosen


def _chunks(items: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    return (items[start : start + size] for start in range(0, len(items), size))
