"""Which session a call belongs to: the one its caller names, else the one its conversation began."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock

from gateway.conversations import derived_id, is_external_id
from gateway.core.requests import ModelRequest
from kernel.errors import BadRequest, Conflict, NotFound
from sessions.models import AgentSession
from sessions.services.lifecycle import Opening, open_session
from sessions.services.store import EXTERNAL, find_session
from teams.auth import Caller

# Agents behind the gateway own their context and fold it themselves.
AGENTS_OWN = "stream-coding-agent"
KEPT_RESPONSES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`source` says who chose the session: the header, or we."""

    session: AgentSession
    source: str


class ResponseSessions:
    """Which session recent responses belong to: a chained Responses call names only the one before it."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], str] = {}
        self._lock = Lock()

    def note(self, project_id: str, response_id: str, session_id: str) -> bool:
        """Whether it is new: servers beside the vendors' own are known to use an id twice."""
        key = project_id, response_id
        with self._lock:
            is_new = key not in self._sessions
            self._sessions[key] = session_id
            if len(self._sessions) > KEPT_RESPONSES:
                self._sessions.pop(next(iter(self._sessions)))
        return is_new

    def get(self, project_id: str, response_id: str) -> str | None:
        return self._sessions.get((project_id, response_id))


recent_responses = ResponseSessions()


def session_for(
    *, caller: Caller, vendor: str, request: ModelRequest, ref: str, profile: str | None = AGENTS_OWN
) -> Found:
    """A session that is not there yet is opened with the profile; None is the project's default."""
    opening = Opening(model=request.model, profile=profile)
    if ref:
        return Found(session=_named(caller, opening, ref), source="header")
    chained = recent_responses.get(caller.project_id, request.continues) if request.continues else None
    if chained is not None:
        return Found(session=find_session(project_id=caller.project_id, ref=chained), source="derived")
    external_id = derived_id(key_id=caller.key_id, vendor=vendor, request=request)
    return Found(session=_find_or_open(caller, opening, external_id), source="derived")


def _named(caller: Caller, opening: Opening, ref: str) -> AgentSession:
    if not ref.startswith(EXTERNAL):
        return find_session(project_id=caller.project_id, ref=ref)
    external_id = ref.removeprefix(EXTERNAL)
    if not is_external_id(external_id):
        raise BadRequest("X-Ctxbudget-Session is a session's id, or ext: and 1 to 128 of A-Za-z0-9._:@-.")
    return _find_or_open(caller, opening, external_id)


def _find_or_open(caller: Caller, opening: Opening, external_id: str) -> AgentSession:
    ref = EXTERNAL + external_id
    try:
        return find_session(project_id=caller.project_id, ref=ref)
    except NotFound:
        pass
    opening = replace(opening, external_id=external_id)
    try:
        return open_session(project_id=caller.project_id, key_id=caller.key_id, opening=opening)[0]
    except Conflict:
        # Another call of the same conversation was a moment faster.
        return find_session(project_id=caller.project_id, ref=ref)
