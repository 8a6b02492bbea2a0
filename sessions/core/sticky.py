"""The sticky cut: a tail's boundary stays until the tail overflows or falls below its low-water mark."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from budgets.core.basis_points import WHOLE_BP, share_of
from sessions.core.groups import Segment, segments
from sessions.core.message import StoredMessage

LOW_WATER_BP = 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The segments that were taken, newest first, what they cost, and the one that did not fit."""

    taken: tuple[Segment, ...]
    tokens: int
    stopped: Segment | None


def segment_cap(room: int, planned: int, low_water_bp: int) -> int:
    """What one segment may take of a tail that was cut: more, and the low-water mark could be missed."""
    return share_of(min(room, planned) if planned else room, WHOLE_BP - low_water_bp)


def walk(
    messages: Sequence[StoredMessage],
    room: int,
    *,
    free: Collection[int],
    after: int = 0,
    enough: int | None = None,
    cap: int | None = None,
) -> Walk:
    """Newest first, whole segments, each charged at most `cap`, until the room or `enough` is reached."""
    taken: list[Segment] = []
    total = 0
    # Without a cap no segment larger than the room can be taken, so none is walked to its end.
    stop_at = None if cap is not None else room
    for segment in segments(messages, free=free, after=after, room=stop_at):
        cost = segment.tokens if cap is None else min(segment.tokens, cap)
        if total + cost > room:
            return Walk(taken=tuple(taken), tokens=total, stopped=segment)
        taken.append(segment)
        total += cost
        if enough is not None and total >= enough:
            break
    return Walk(taken=tuple(taken), tokens=total, stopped=None)


def reaches(walked: Walk, messages: Sequence[StoredMessage], after: int) -> bool:
    """Whether the walk took every message above `after`."""
    first = walked.taken[-1].first if walked.taken else len(messages)
    if first > 0:
        return messages[first - 1].seq <= after
    return not messages or messages[0].seq <= after + 1
