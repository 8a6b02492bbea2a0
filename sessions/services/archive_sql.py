"""The raw SQL of the archive's index: a step's terms join their postings in one statement per batch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from django.db import connection

from kernel.fields import canonical_json
from kernel.rows import batched
from sessions.models import AgentSession, ArchiveTerm

# A term in more messages than this tells nothing about any of them; only its count goes on.
MAX_POSTINGS = 2_000
TERMS_PER_STATEMENT = 200
_TABLE = ArchiveTerm._meta.db_table
# Both are JSON lists: the old one without its last bracket, a comma, the new one without its first.
_JOINED = f"substr({_TABLE}.seqs, 1, length({_TABLE}.seqs) - 1) || ',' || substr(excluded.seqs, 2)"


def add_postings(session: AgentSession, found: Mapping[str, list[int]]) -> None:
    """Adds the messages in which each term was found; sorted, so that two writers cannot deadlock."""
    with connection.cursor() as cursor:
        for batch in batched(sorted(found), TERMS_PER_STATEMENT):
            rows = (
                (session.pk, session.project_id, term, len(found[term]), canonical_json(found[term]))
                for term in batch
            )
            cursor.execute(_upsert(len(batch)), [*(value for row in rows for value in row), MAX_POSTINGS])


@cache
def _upsert(count: int) -> str:
    marks = ", ".join(["(%s, %s, %s, %s, %s)"] * count)
    return (
        f"INSERT INTO {_TABLE} (session_id, project_id, term, documents, seqs) VALUES {marks}"
        " ON CONFLICT (session_id, term) DO UPDATE SET"
        f" documents = {_TABLE}.documents + excluded.documents,"
        f" seqs = CASE WHEN {_TABLE}.documents >= %s THEN {_TABLE}.seqs ELSE {_JOINED} END"
    )
