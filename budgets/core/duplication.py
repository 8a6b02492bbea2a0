"""Sections that a context renders more than once: content against the room it takes."""

from __future__ import annotations

from budgets.core.basis_points import WHOLE_BP
from budgets.core.policy import SectionPolicy


def content_of(section: SectionPolicy, room_tokens: int) -> int:
    """How much content a room holds when the section is rendered `duplication_bp` times."""
    return room_tokens * WHOLE_BP // section.duplication_bp


def rendered_size(section: SectionPolicy, content_tokens: int) -> int:
    return -(-content_tokens * section.duplication_bp // WHOLE_BP)
