"""The tables of sessions, by noun."""

from sessions.models.approvals import Approval
from sessions.models.archive import Checkpoint, Manifest, MemoryEntry, Summary
from sessions.models.happenings import Intervention, ReportedEvent, Signal
from sessions.models.notes import Protocol, ScratchNote
from sessions.models.search import ArchiveDocument, ArchiveIndex, ArchiveTerm
from sessions.models.sessions import AgentSession, Message, SectionContent
from sessions.models.turns import Assembly, Turn, UsageBucket

__all__ = [
    "AgentSession",
    "Approval",
    "ArchiveDocument",
    "ArchiveIndex",
    "ArchiveTerm",
    "Assembly",
    "Checkpoint",
    "Intervention",
    "Manifest",
    "MemoryEntry",
    "Message",
    "Protocol",
    "ReportedEvent",
    "ScratchNote",
    "SectionContent",
    "Signal",
    "Summary",
    "Turn",
    "UsageBucket",
]
