"""Puts frame and history together: repairs, the order of the blocks, and a user message first."""

from collections.abc import Sequence
from dataclasses import dataclass

from budgets.core.basis_points import WHOLE_BP
from budgets.core.policy import SectionPolicy
from sessions.core.blocks import OPENING, made_block
from sessions.core.fills import HistoryFill
from sessions.core.frame import Frame
from sessions.core.message import StoredMessage, body_text
from sessions.core.repair import Repaired, repair
from sessions.core.request import Ruler

TIMELINE = "## Timeline Log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """The output in order, with what it costs."""

    messages: tuple[StoredMessage, ...]
    tokens: int
    repaired: Repaired


def compose(frame: Frame, history: HistoryFill, section: SectionPolicy, ruler: Ruler) -> Composed:
    repaired = repair(history.messages, ruler.count_message)
    stored = repaired.messages
    trailing = (*frame.trailing, *_timeline(section, stored, ruler))
    leading = next((i for i, message in enumerate(stored) if message.role != "system"), len(stored))
    at = max(leading, _trailing_position(stored, repaired.open_from))
    ordered = [*stored[:leading], *frame.opening, *stored[leading:at], *trailing, *stored[at:]]
    if ordered and (leading == len(ordered) or ordered[leading].role != "user"):
        ordered.insert(leading, made_block(OPENING, ruler))
    tokens = frame.system_tokens + sum(message.tokens for message in ordered)
    return Composed(messages=tuple(ordered), tokens=tokens, repaired=repaired)


def _trailing_position(stored: Sequence[StoredMessage], open_from: int | None) -> int:
    """Before the user's newest message or before open calls, else at the end."""
    if open_from is not None:
        return open_from
    return len(stored) - 1 if stored and stored[-1].role == "user" else len(stored)


def _timeline(
    section: SectionPolicy, stored: Sequence[StoredMessage], ruler: Ruler
) -> tuple[StoredMessage, ...]:
    """The second rendering of a section with a duplication factor (W2)."""
    if section.duplication_bp <= WHOLE_BP or not stored:
        return ()
    lines = [f"[SEQ_ID: {m.seq}] {m.role.title()}: {body_text(m.body)}" for m in stored if m.seq]
    return (made_block("\n".join([TIMELINE, *lines]), ruler),)
