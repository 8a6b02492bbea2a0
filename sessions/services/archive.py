"""The archive: folded messages stay findable by the words that they contain."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from kernel.jobs import queue as jobs
from kernel.rows import insert_rows
from sessions.core.message import StoredMessage, body_text
from sessions.core.reading import tool_calls
from sessions.core.terms import document_terms
from sessions.models import AgentSession, ArchiveDocument, ArchiveIndex
from sessions.services.archive_sql import add_postings
from sessions.services.frames import Frame
from sessions.services.store import read_range

INDEX_JOB = "index_archive"
# Short transactions: appends go on between them.
MESSAGES_PER_STEP = 10
# Live messages are indexed in batches of about this size while they come in.
INDEX_EVERY = 200


def index_up_to(session: AgentSession, frame: Frame, to_seq: int) -> None:
    """Indexes what is not indexed yet; safe to run twice at once and after a crash."""
    while _index_step(session, frame, to_seq):
        pass


def request_indexing(session: AgentSession, *, to_seq: int) -> None:
    """For folds that no compaction job stands behind, and so that a search reads little itself."""
    jobs.enqueue(
        kind=INDEX_JOB,
        dedupe_key=f"{INDEX_JOB}:{session.pk}:{session.head_seq}",
        project_id=session.project_id,
        subject_id=session.pk,
        payload={"to_seq": to_seq},
    )


def _index_step(session: AgentSession, frame: Frame, to_seq: int) -> bool:
    """One batch: the terms are made before the transaction, which then only writes."""
    known = ArchiveIndex.objects.filter(session_id=session.pk).first()
    done = known.indexed_to_seq if known else 0
    last = min(to_seq, done + MESSAGES_PER_STEP)
    if last <= done:
        return False
    messages = read_range(session, frame, first=done + 1, last=last)
    documents = [(message.seq, terms_of(message)) for message in messages]
    return _write_step(session, documents, after=done, last=last) and last < to_seq


@transaction.atomic
def _write_step(
    session: AgentSession, documents: Sequence[tuple[int, list[str]]], *, after: int, last: int
) -> bool:
    """Whether it makes sense to go on."""
    if not _lock_unless_erased(session):
        return False
    index, _ = ArchiveIndex.objects.get_or_create(session_id=session.pk)
    if index.indexed_to_seq != after:
        # Another worker was here; the next step goes on from where it came to.
        return True
    insert_rows(
        [ArchiveDocument(session=session, seq=seq, terms=" ".join(terms)) for seq, terms in documents]
    )
    _add_postings(session, documents)
    index.indexed_to_seq = last
    index.documents += len(documents)
    index.total_terms += sum(len(terms) for _, terms in documents)
    index.save()
    return True


def _lock_unless_erased(session: AgentSession) -> bool:
    """Takes the session's row: nothing may be indexed after its words were erased."""
    rows = AgentSession.objects.select_for_update().filter(pk=session.pk)
    return bool(rows.exclude(state=AgentSession.State.ERASED).values_list("pk"))


def terms_of(message: StoredMessage) -> list[str]:
    calls = (f"{call.name} {call.raw}" for call in tool_calls(message))
    speaker = str(message.body.get("name") or "")
    return document_terms("\n".join([body_text(message.body), *calls]), speaker=speaker)


def _add_postings(session: AgentSession, documents: Sequence[tuple[int, list[str]]]) -> None:
    found: dict[str, list[int]] = {}
    for seq, terms in documents:
        for term in set(terms):
            found.setdefault(term, []).append(seq)
    add_postings(session, found)
