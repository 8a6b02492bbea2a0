"""Agents that compact themselves: their summary stands for what came before."""

from __future__ import annotations

from sessions.models import AgentSession
from sessions.services.archive import request_indexing
from sessions.services.frames import Frame
from sessions.services.manifests import fold_into_summary


def take_agent_summary(session: AgentSession, frame: Frame, *, text: str, starts_epoch: bool) -> None:
    if starts_epoch:
        session.reported_prompt = None
        session.counted_since_report = 0
    if text and session.head_seq > session.base_seq:
        fold_into_summary(session, frame, to_seq=session.head_seq, text=text, source="agent", job_id="")
        request_indexing(session, to_seq=session.base_seq)
