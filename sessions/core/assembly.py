"""assemble(): from sections, memory, summaries, hits and messages to the next context, or a refusal."""

from collections.abc import Sequence
from dataclasses import replace

from sessions.core.blocks import Layout, lay_out
from sessions.core.composition import Composed, compose
from sessions.core.contents import Contents, gather
from sessions.core.errors import ContextTooLarge, NoRoom
from sessions.core.fills import HISTORY_FILLS, HistoryAsk, HistoryFill
from sessions.core.frame import Frame, build_frame, room_for_history
from sessions.core.groups import group_of
from sessions.core.message import Hit, MemoryItem, StoredMessage, SummaryItem
from sessions.core.proof import is_valid, prefix_pieces, stable_tokens
from sessions.core.reporting import build_report, loaded_tokens
from sessions.core.request import Anchors, AssemblyRequest, ContextPlan, Ruler

__all__ = [
    "Anchors",
    "AssemblyRequest",
    "ContextPlan",
    "ContextTooLarge",
    "Hit",
    "MemoryItem",
    "Ruler",
    "StoredMessage",
    "SummaryItem",
    "anchors_of",
    "assemble",
]

# How far the elastic sections give way before a context is refused.
SQUEEZES_BP = (10_000, 5_000, 0)
# Counts of parts do not quite add up to the count of the whole; each attempt takes the excess off the room.
_ATTEMPTS = 12


def assemble(request: AssemblyRequest) -> ContextPlan:
    request = replace(request, ruler=request.ruler.remembering())
    layout = lay_out(request.policy)
    contents = gather(request, layout)
    refusals: list[NoRoom] = []
    for squeeze_bp in SQUEEZES_BP:
        try:
            return _attempt(request, layout, contents, squeeze_bp)
        except NoRoom as refusal:
            refusals.append(refusal)
    raise _too_large(request, layout, contents, refusals[-1])


def usable_tokens(request: AssemblyRequest) -> int:
    """The largest count whose upper estimate, with the overhead of the call, stays within max input."""
    most, high = request.window.max_input - request.overhead_tokens, request.ruler.high
    if high is None or most <= 0:
        return most
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if high(middle + request.overhead_tokens) <= request.window.max_input:
            least = middle
        else:
            most = middle - 1
    return least


def anchors_of(messages: Sequence[StoredMessage]) -> Anchors:
    """The anchors of a history that is held as a whole; a store reads them from its indexes instead."""
    spoken = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    users = [message for message in messages if message.role == "user"]
    users = [message for message in users if message.is_human] or users
    return Anchors(
        system=tuple(messages[:spoken]),
        first_user=users[0] if users else None,
        latest_user=users[-1] if users else None,
        pinned=tuple(m for i, pin in enumerate(messages) if pin.pinned for m in group_of(messages, i)),
    )


def _attempt(request: AssemblyRequest, layout: Layout, contents: Contents, squeeze_bp: int) -> ContextPlan:
    limit = usable_tokens(request)
    frame = build_frame(
        request, layout, contents, limit=limit, history_wants=loaded_tokens(request), squeeze_bp=squeeze_bp
    )
    room = room_for_history(frame, layout.history, limit)
    for _ in range(_ATTEMPTS):
        history = _fill_history(request, layout, frame, room, limit, last_resort=squeeze_bp == 0)
        composed = compose(frame, history, layout.history, request.ruler)
        over = composed.tokens + frame.held - limit
        if over <= 0:
            return _plan(request, layout, contents, frame, history, composed)
        room -= over
    raise NoRoom(section=layout.history.name, needed=room + over, room=room)


def _fill_history(
    request: AssemblyRequest, layout: Layout, frame: Frame, room: int, limit: int, *, last_resort: bool
) -> HistoryFill:
    ask = HistoryAsk(
        section=layout.history,
        room=room,
        planned=frame.rooms.get(layout.history.name, 0),
        usable=limit,
        ruler=request.ruler,
        tail=request.tail,
        head=request.head,
        middle=request.middle,
        anchors=request.anchors,
        base_seq=request.base_seq,
        cut_seq=request.cut_seq,
        head_seq=request.head_seq,
        live_tokens=request.live_tokens,
        sticky=request.sticky,
        last_resort=last_resort,
    )
    return HISTORY_FILLS[layout.history.fill](ask)


def _plan(
    request: AssemblyRequest,
    layout: Layout,
    contents: Contents,
    frame: Frame,
    history: HistoryFill,
    composed: Composed,
) -> ContextPlan:
    changed = history.clipped | composed.repaired.changed
    pieces = prefix_pieces(frame.system, frame.system_tokens, composed.messages, changed)
    report = build_report(request, layout, contents, frame, history, composed)
    report["prefix_stable_tokens"] = stable_tokens(request.previous_prefix, pieces)
    report["valid"] = is_valid(composed.messages, composed.repaired.open_from)
    return ContextPlan(
        system=frame.system,
        messages=tuple(message.body for message in composed.messages),
        seqs=tuple(message.seq for message in composed.messages),
        tokens=report["tokens"],
        cut_seq=history.cut_seq,
        report=report,
        prefix=pieces,
    )


def _too_large(
    request: AssemblyRequest, layout: Layout, contents: Contents, refusal: NoRoom
) -> ContextTooLarge:
    window, count = request.window, request.ruler.count
    texts = [{"name": s.name, "needed": count(contents.whole_text(s))} for s in layout.texts]
    return ContextTooLarge(
        model=request.model,
        used=window.max_input + refusal.needed - refusal.room,
        max_input=window.max_input,
        safe=window.safe,
        sections=[*texts, {"name": layout.history.name, "needed": loaded_tokens(request)}],
    )
