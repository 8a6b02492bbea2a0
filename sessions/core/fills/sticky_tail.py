"""sticky_tail: the newest messages from a boundary that stays put, so that the prompt cache survives."""

from collections.abc import Iterable

from budgets.core.basis_points import share_of
from sessions.core.fills.history import HistoryAsk, HistoryFill, Kept, always_kept, changed_of, clip_all
from sessions.core.groups import Segment, segments
from sessions.core.message import StoredMessage
from sessions.core.sticky import LOW_WATER_BP, Walk, reaches, segment_cap, walk

# Without the sticky cut, an older segment is clipped into a gap larger than this part of the window.
_GAP = 20


def fill_sticky_tail(ask: HistoryAsk) -> HistoryFill:
    kept = always_kept(ask)
    room = ask.room - kept.tokens
    low_bp = ask.section.options.get("low_water_bp", LOW_WATER_BP)
    low = share_of(ask.room, low_bp) - kept.tokens
    cap = segment_cap(ask.room, ask.planned, low_bp)
    was_cut = ask.sticky and ask.cut_seq > ask.base_seq
    after = ask.cut_seq if was_cut else ask.base_seq
    walked = walk(ask.tail, room, free=kept.messages, after=after, cap=cap if was_cut else None)
    if reaches(walked, ask.tail, after) and (not was_cut or walked.tokens >= low):
        return _filled(ask, kept, walked, cap if was_cut else None)
    if ask.sticky:
        walked = walk(ask.tail, room, free=kept.messages, after=ask.base_seq, enough=max(low, 0), cap=cap)
        return _filled(ask, kept, walked, cap)
    return _with_clipped_gap(ask, kept, walk(ask.tail, room, free=kept.messages, after=ask.base_seq), room)


def _with_clipped_gap(ask: HistoryAsk, kept: Kept, walked: Walk, room: int) -> HistoryFill:
    """Fills the rest of the room with the beginning of the segment that did not fit whole."""
    gap = room - walked.tokens
    stopped = _next_segment(ask, kept, walked)
    if stopped is None or gap <= ask.usable // _GAP:
        return _filled(ask, kept, walked, None)
    shown = clip_all(_paid(ask, stopped, kept), gap, ask)
    if sum(message.tokens for message in shown.values()) > gap:
        return _filled(ask, kept, walked, None)
    return _filled(ask, kept, Walk(taken=(*walked.taken, stopped), tokens=room, stopped=None), None, shown)


def _next_segment(ask: HistoryAsk, kept: Kept, walked: Walk) -> Segment | None:
    first = walked.taken[-1].first if walked.taken else len(ask.tail)
    return next(segments(ask.tail, before=first, free=kept.messages, after=ask.base_seq), None)


def _filled(
    ask: HistoryAsk, kept: Kept, walked: Walk, cap: int | None, shown: dict[int, StoredMessage] | None = None
) -> HistoryFill:
    shown = dict(shown or {})
    if cap is not None:
        for segment in walked.taken:
            if segment.tokens > cap:
                shown |= clip_all(_paid(ask, segment, kept), cap, ask)
    first = walked.taken[-1].first if walked.taken else len(ask.tail)
    tail = ask.tail[first:]
    cuts = changed_of((m for m in tail if m.seq in shown), shown)
    shown |= kept.messages
    start = tail[0].seq if tail else ask.head_seq + 1
    messages = (*kept.before(start), *(shown.get(m.seq, m) for m in tail))
    return HistoryFill(
        messages=messages,
        cut_seq=start - 1 if start - 1 > ask.base_seq else 0,
        clipped=kept.clipped | {cut.seq for cut in cuts if cut.seq is not None},
        cuts=(*kept.cuts, *cuts),
    )


def _paid(ask: HistoryAsk, segment: Segment, kept: Kept) -> Iterable[StoredMessage]:
    return [m for m in ask.tail[segment.first : segment.last + 1] if m.seq not in kept.messages]
