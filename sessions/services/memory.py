"""Memory entries: what is worth keeping beyond the conversation."""

from __future__ import annotations

from sessions.models import AgentSession, MemoryEntry
from sessions.services.frames import Frame

# No memory section holds more entries than this, whatever its size.
MAX_READ = 500


def memory_in_fill_order(session: AgentSession, frame: Frame) -> list[MemoryEntry]:
    """Pinned first, then by priority, then the newest."""
    rows = MemoryEntry.objects.filter(session=session, superseded_at=None)
    return list(rows.order_by("-pinned", "-priority", "-seq", "-id")[:MAX_READ])
