"""Fills sections by relevance: what was folded away and matters for the present query."""

from __future__ import annotations

from sessions.core.message import Hit, body_text
from sessions.core.terms import query_terms
from sessions.models import AgentSession, ArchiveTerm
from sessions.services import archive
from sessions.services.frames import Frame
from sessions.services.manifests import is_hidden
from sessions.services.store import messages_by_seq

MAX_HITS = 60
# Other sessions of the project are looked at only as far as their rarest matches.
MAX_SESSIONS = 5
MAX_HITS_ELSEWHERE = 10


def hits_for(session: AgentSession, frame: Frame, query: str) -> list[Hit]:
    """Best first, each with a reference to where it came from; nothing that is in the live view."""
    if not query.strip() or not any(section.fill == "retrieve" for section in frame.policy.sections):
        return []
    hits = _hits_in(session, frame, query, up_to=session.base_seq, limit=MAX_HITS)
    if frame.policy.retrieval.across_sessions:
        for other in _similar_sessions(session, query):
            hits += _hits_in(other, frame, query, up_to=other.head_seq, limit=MAX_HITS_ELSEWHERE)
    return hits


def _hits_in(session: AgentSession, frame: Frame, query: str, *, up_to: int, limit: int) -> list[Hit]:
    found = [row for row in archive.search(session, query) if row.seq <= up_to]
    ranked = [row for row in found if not is_hidden(session, row.seq)][:limit]
    messages = messages_by_seq(session, frame, (row.seq for row in ranked))
    hits = []
    for row in ranked:
        message = messages.get(row.seq)
        text = body_text(message.body) if message else ""
        if message and text.strip() and not message.pinned:
            ref = f"{session.pk}#{row.seq} {message.role}"
            hits.append(Hit(ref=ref, text=text, tokens=frame.counter.count(text), score=row.score))
    return hits


def _similar_sessions(session: AgentSession, query: str) -> list[AgentSession]:
    """Sessions of the same project in which the query's terms are rare and present."""
    terms = query_terms(query)[: archive.MAX_QUERY_TERMS]
    rows = ArchiveTerm.objects.filter(project_id=session.project_id, term__in=terms).exclude(session=session)
    score: dict[str, float] = {}
    for session_id, documents in rows.order_by("documents").values_list("session_id", "documents")[:500]:
        score[session_id] = score.get(session_id, 0.0) + 1 / documents
    best = sorted(score, key=lambda key: (-score[key], key))[:MAX_SESSIONS]
    return list(AgentSession.objects.filter(pk__in=best, project_id=session.project_id).order_by("pk"))
