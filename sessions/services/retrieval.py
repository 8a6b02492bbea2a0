"""Fills sections by relevance: what is not sent and matters for the present query."""

from __future__ import annotations

from kernel.rows import batched
from sessions.core.message import Hit, body_text
from sessions.core.terms import query_terms
from sessions.models import AgentSession, ArchiveTerm
from sessions.services.frames import Frame
from sessions.services.manifests import is_hidden
from sessions.services.searching import MAX_QUERY_TERMS, search
from sessions.services.store import messages_by_seq

# Other sessions of the project are looked at only as far as their rarest matches.
MAX_SESSIONS = 5
ELSEWHERE_TOKENS = 2_000
READ_AT_ONCE = 100


def hits_for(
    session: AgentSession, frame: Frame, query: str, *, before_seq: int, room_tokens: int
) -> list[Hit]:
    """Best first, as many as could fit, each with a reference; nothing that is sent anyway."""
    if not query.strip() or not any(section.fill == "retrieve" for section in frame.policy.sections):
        return []
    hits = _hits_in(session, frame, query, before_seq=before_seq, room_tokens=room_tokens, place="")
    if frame.policy.retrieval.across_sessions:
        for other in _similar_sessions(session, query):
            hits += _hits_in(
                other,
                frame,
                query,
                before_seq=other.head_seq + 1,
                room_tokens=ELSEWHERE_TOKENS,
                place=other.pk,
            )
    return hits


def _hits_in(
    session: AgentSession, frame: Frame, query: str, *, before_seq: int, room_tokens: int, place: str
) -> list[Hit]:
    """`place` stands before the number of a message that is not of this session."""
    found = [row for row in search(session, frame, query) if row.seq < before_seq]
    ranked = [row for row in found if not is_hidden(session, row.seq)]
    hits: list[Hit] = []
    for chunk in batched(ranked, READ_AT_ONCE):
        messages = messages_by_seq(session, frame, (row.seq for row in chunk))
        for row in chunk:
            message = messages.get(row.seq)
            text = body_text(message.body) if message else ""
            if message is None or message.pinned or not text.strip():
                continue
            hits.append(Hit(ref=f"{place}#{row.seq}", text=text, tokens=message.tokens, score=row.score))
            room_tokens -= message.tokens
        if room_tokens <= 0:
            break
    return hits


def _similar_sessions(session: AgentSession, query: str) -> list[AgentSession]:
    """Sessions of the same project in which the query's terms are rare and present."""
    terms = query_terms(query)[:MAX_QUERY_TERMS]
    rows = ArchiveTerm.objects.filter(project_id=session.project_id, term__in=terms).exclude(session=session)
    score: dict[str, float] = {}
    for session_id, documents in rows.order_by("documents").values_list("session_id", "documents")[:500]:
        score[session_id] = score.get(session_id, 0.0) + 1 / documents
    best = sorted(score, key=lambda key: (-score[key], key))[:MAX_SESSIONS]
    return list(AgentSession.objects.filter(pk__in=best, project_id=session.project_id).order_by("pk"))
