"""sticky_tail: the newest messages from a boundary that stays put, so that the prompt cache survives."""

from budgets.core.basis_points import share_of
from sessions.core.clipping import clip_together, water_level
from sessions.core.fills.history import HistoryAsk, HistoryFill, Kept, always_kept, changed_of
from sessions.core.groups import Segment, newest_group, open_calls, segments
from sessions.core.message import StoredMessage
from sessions.core.sticky import LOW_WATER_BP, Walk, reaches, segment_cap, walk, walk_capped

# Without the sticky cut, an older segment is clipped into a gap larger than this part of the window.
_GAP = 20


def fill_sticky_tail(ask: HistoryAsk) -> HistoryFill:
    kept = always_kept(ask)
    room = ask.room - kept.tokens
    if ask.sticky and ask.cut_seq > ask.base_seq:
        return _filled(ask, kept, _sticky_walk(ask, kept, room, is_cut=True))
    whole = walk(ask.tail, room, free=kept.messages, after=ask.base_seq)
    if reaches(whole, ask.tail, ask.base_seq):
        return _filled(ask, kept, whole)
    if ask.sticky:
        return _filled(ask, kept, _sticky_walk(ask, kept, room, is_cut=False))
    return _filled(ask, kept, _with_clipped_gaps(ask, kept, whole, room))


def _sticky_walk(ask: HistoryAsk, kept: Kept, room: int, *, is_cut: bool) -> Walk:
    """The old boundary while it holds, else a new one at the low-water mark."""
    low_bp = ask.section.options.get("low_water_bp", LOW_WATER_BP)
    low = max(share_of(ask.room, low_bp) - kept.tokens, 0)
    cap = segment_cap(ask.room, ask.planned, low_bp)
    if is_cut:
        steady = _capped(ask, kept, room, cap, after=ask.cut_seq)
        if reaches(steady, ask.tail, ask.cut_seq) and steady.tokens >= low:
            return steady
    fresh = _capped(ask, kept, room, cap, after=ask.base_seq, enough=low)
    if fresh.tokens >= low or not reaches(fresh, ask.tail, ask.base_seq):
        return fresh
    # Everything is there and still below the mark: the caps were too low for a few very large messages.
    sizes = [segment.tokens for segment in segments(ask.tail, free=kept.messages, after=ask.base_seq)]
    return _capped(ask, kept, room, water_level(sizes, (low + room) // 2), after=ask.base_seq)


def _capped(
    ask: HistoryAsk, kept: Kept, room: int, cap: int, *, after: int, enough: int | None = None
) -> Walk:
    def clip(segment: Segment) -> dict[int, StoredMessage]:
        return clip_together(_paid(ask, kept, segment), cap, ask.ruler)

    return walk_capped(ask.tail, room, free=kept.messages, after=after, cap=cap, clip=clip, enough=enough)


def _with_clipped_gaps(ask: HistoryAsk, kept: Kept, whole: Walk, room: int) -> Walk:
    """Fills the rest of the room with the beginning of the segment that did not fit whole, and goes on."""
    walked = whole
    while (gap := room - walked.tokens) > ask.usable // _GAP:
        stopped = next(segments(ask.tail, before=walked.first, free=kept.messages, after=ask.base_seq), None)
        if stopped is None:
            break
        shown = clip_together(_paid(ask, kept, stopped), gap, ask.ruler)
        tokens = sum(message.tokens for message in shown.values())
        if tokens > gap:
            break
        older = walk(ask.tail, gap - tokens, free=kept.messages, after=ask.base_seq, before=stopped.first)
        walked = Walk(
            first=older.first, tokens=walked.tokens + tokens + older.tokens, shown={**walked.shown, **shown}
        )
    return walked


def _boundary(ask: HistoryAsk, start: int) -> int:
    """Before the newest call in any case: what it gets next is to find it behind the boundary."""
    newest = (*open_calls(ask.tail), *newest_group(ask.tail))
    first = min([start, *(message.seq for message in newest)])
    return first - 1 if first - 1 > ask.base_seq else 0


def _paid(ask: HistoryAsk, kept: Kept, segment: Segment) -> tuple[StoredMessage, ...]:
    return tuple(m for m in ask.tail[segment.first : segment.last + 1] if m.seq not in kept.messages)


def _filled(ask: HistoryAsk, kept: Kept, walked: Walk) -> HistoryFill:
    tail = ask.tail[walked.first :]
    cuts = changed_of((m for m in tail if m.seq in walked.shown), walked.shown)
    shown = {**walked.shown, **kept.messages}
    start = tail[0].seq if tail else ask.head_seq + 1
    return HistoryFill(
        messages=(*kept.before(start), *(shown.get(m.seq, m) for m in tail)),
        cut_seq=_boundary(ask, start),
        clipped=kept.clipped | {cut.seq for cut in cuts if cut.seq is not None},
        cuts=(*kept.cuts, *cuts),
    )
