"""Search over all messages of a session: the archive by its index, the live view by reading it."""

from __future__ import annotations

from sessions.core.message import body_text
from sessions.core.ranking import Document, Ranked, corpus_of, rank
from sessions.core.terms import document_terms, query_terms
from sessions.models import AgentSession, ArchiveIndex, Message
from sessions.services import archive
from sessions.services.frames import Frame
from sessions.services.store import from_bytes

# What is not indexed yet is read; compaction keeps it about this short.
MAX_UNINDEXED = 500


def search_messages(session: AgentSession, frame: Frame, query: str, *, limit: int) -> list[Message]:
    found = [*_search_unindexed(session, query), *archive.search(session, query)]
    best = [row.seq for row in sorted(found, key=lambda row: (-row.score, -row.seq))][:limit]
    rows = {row.seq: row for row in Message.objects.filter(session=session, seq__in=best)}
    return [rows[seq] for seq in best if seq in rows]


def _search_unindexed(session: AgentSession, query: str) -> list[Ranked]:
    index = ArchiveIndex.objects.filter(session_id=session.pk).first()
    done = index.indexed_to_seq if index else 0
    rows = Message.objects.filter(session=session, seq__gt=done).order_by("-seq")[:MAX_UNINDEXED]
    documents = [
        Document(seq=row.seq, terms=document_terms(body_text(from_bytes(row.body))), tokens=0) for row in rows
    ]
    return rank(documents, query_terms(query), corpus_of(documents)) if documents else []
