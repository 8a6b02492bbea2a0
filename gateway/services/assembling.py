"""Puts the session's own context in the place of a request's messages, for projects that want it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from gateway.core.requests import ModelRequest
from gateway.measuring import Measured
from gateway.services.histories import history_of
from gateway.services.modes import assembles
from gateway.services.recording import belongs, record_history
from gateway.values import Wanted
from kernel.errors import ProblemError
from providers.blocks import plain_text
from sessions.models import AgentSession
from sessions.services.contexts import ContextWish, next_context

# Where a context can be spelled in the vendor's words; a chained Responses call keeps its history there.
FORMATS = ("openai", "anthropic")
# Enough to search by; what is longer is material, not a question.
MAX_QUERY = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """The request as it is sent, and its bytes."""

    request: ModelRequest
    body: bytes


def may_assemble(project_id: str, format: str) -> bool:
    return format in FORMATS and assembles(project_id)


def assembled(wanted: Wanted, session: AgentSession, measured: Measured) -> Assembled | None:
    """None for a call that does not belong to the session's conversation: it is sent as it came."""
    history = history_of(wanted, measured, session_id=session.pk)
    if not session.keeps_content or not belongs(session, history.conversation):
        return None
    if history.events:
        record_history(session.project_id, session.pk, history.conversation, history.events)
    wish = ContextWish(
        format=wanted.protocol.format, max_output=wanted.request.max_output, query=_query(wanted.request)
    )
    context = next_context(project_id=session.project_id, ref=session.pk, wish=wish)
    if isinstance(context, ProblemError):
        raise context
    body = dict(wanted.asked)
    body["messages"] = context["messages"]
    if context["system"] and wanted.protocol.format == "anthropic":
        body["system"] = context["system"]
    elif context["system"]:
        body["messages"] = [{"role": "system", "content": context["system"]}, *context["messages"]]
    return Assembled(request=wanted.protocol.read(body), body=json.dumps(body).encode())


def _query(request: ModelRequest) -> str:
    """The newest message, if it is a person's."""
    newest = request.messages[-1] if request.messages else None
    if not isinstance(newest, dict) or newest.get("role") != "user":
        return ""
    return plain_text(newest.get("content"))[:MAX_QUERY]


def with_pieces_of(sent: Measured, asked: Measured) -> Measured:
    """Weighed as sent; the messages are known again as the agent sends them."""
    return replace(sent, pieces=asked.pieces)
