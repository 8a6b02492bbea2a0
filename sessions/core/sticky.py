"""The sticky cut: a tail's boundary stays until the tail overflows or falls below its low-water mark."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from budgets.core.basis_points import WHOLE_BP, share_of
from sessions.core.groups import Segment, segments
from sessions.core.message import StoredMessage

LOW_WATER_BP = 6_000

Clip = Callable[[Segment], dict[int, StoredMessage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The tail from index `first` on, what it costs, and the messages that were clipped for it."""

    first: int
    tokens: int
    shown: dict[int, StoredMessage] = field(default_factory=dict)


def segment_cap(room: int, planned: int, low_water_bp: int) -> int:
    """What one segment may take of a tail that was cut: more, and the low-water mark could be missed."""
    return share_of(min(room, planned) if planned else room, WHOLE_BP - low_water_bp)


def walk(
    messages: Sequence[StoredMessage],
    room: int,
    *,
    free: Collection[int],
    after: int = 0,
    before: int | None = None,
) -> Walk:
    """Newest first (or from the index `before`), whole segments as they are, until the room is full."""
    first, total = len(messages) if before is None else before, 0
    for segment in segments(messages, free=free, after=after, before=before, room=room):
        first, total = segment.first, total + segment.tokens
    return Walk(first=first, tokens=total)


def walk_capped(
    messages: Sequence[StoredMessage],
    room: int,
    *,
    free: Collection[int],
    after: int,
    cap: int,
    clip: Clip,
    enough: int | None = None,
) -> Walk:
    """The same with every segment above `cap` clipped, and no further than `enough`."""
    first, total = len(messages), 0
    shown: dict[int, StoredMessage] = {}
    for segment in segments(messages, free=free, after=after):
        clipped = clip(segment) if segment.tokens > cap else {}
        cost = sum(message.tokens for message in clipped.values()) if clipped else segment.tokens
        if total + cost > room:
            break
        first, total = segment.first, total + cost
        shown |= clipped
        if enough is not None and total >= enough:
            break
    return Walk(first=first, tokens=total, shown=shown)


def reaches(walked: Walk, messages: Sequence[StoredMessage], after: int) -> bool:
    """Whether the walk took every message above `after`."""
    if walked.first > 0:
        return messages[walked.first - 1].seq <= after
    return not messages or messages[0].seq <= after + 1
