"""assemble(): from sections, memory, summaries, hits and stored messages to the next context, or a refusal with numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from sessions.core.blocks import OPENING, Layout, lay_out
from sessions.core.contents import Contents, gather
from sessions.core.errors import ContextTooLarge, NoRoom
from sessions.core.fills import HISTORY_FILLS, HistoryAsk, HistoryFill
from sessions.core.frame import Frame, build_frame, room_for_history
from sessions.core.message import Hit, MemoryItem, StoredMessage, SummaryItem, body_text
from sessions.core.repair import Repaired, made_message, repair
from sessions.core.reporting import build_report
from sessions.core.proof import is_valid, prefix_pieces, stable_tokens
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """The output in order, with what it costs."""

    messages: tuple[StoredMessage, ...]
    tokens: int
    repaired: Repaired


def assemble(request: AssemblyRequest) -> ContextPlan:
    layout = lay_out(request.policy)
    contents = gather(request, layout)
    limit = usable_tokens(request)
    refusal: NoRoom | None = None
    for squeeze_bp in SQUEEZES_BP:
        try:
            return _attempt(request, layout, contents, limit, squeeze_bp)
        except NoRoom as error:
            refusal = error
    assert refusal is not None
    raise _too_large(request, layout, contents, refusal)


def usable_tokens(request: AssemblyRequest) -> int:
    """The largest count whose upper estimate, with the overhead of the call, stays within max input."""
    most = request.window.max_input - request.overhead_tokens
    high = request.ruler.high
    if high is None or most <= 0:
        return most
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if high(middle + request.overhead_tokens) <= request.window.max_input:
            low = middle
        else:
            most = middle - 1
    return low


def anchors_of(messages: Sequence[StoredMessage]) -> Anchors:
    """The anchors of a history that is held as a whole; a store reads them from its indexes instead."""
    spoken = [index for index, message in enumerate(messages) if message.role != "system"]
    opening = messages[: spoken[0]] if spoken else messages
    users = [m for m in messages if m.role == "user" and m.is_human] or [
        m for m in messages if m.role == "user"
    ]
    return Anchors(
        system=tuple(opening),
        first_user=users[0] if users else None,
        latest_user=users[-1] if users else None,
        pinned=tuple(message for message in messages if message.pinned),
    )


def _attempt(
    request: AssemblyRequest, layout: Layout, contents: Contents, limit: int, squeeze_bp: int
) -> ContextPlan:
    wants = _history_wants(request)
    frame = build_frame(request, layout, contents, limit=limit, history_wants=wants, squeeze_bp=squeeze_bp)
    room = room_for_history(frame, layout.history, limit)
    for _ in range(_ATTEMPTS):
        history = _fill_history(request, layout, frame, room, limit)
        composed = _compose(request, layout, frame, history)
        over = composed.tokens - (limit - frame.held)
        if over <= 0:
            return _plan(request, layout, contents, frame, history, composed)
        room -= over
    raise NoRoom(section=layout.history.name, needed=room + over, room=room)


def _history_wants(request: AssemblyRequest) -> int:
    if request.live_tokens is not None:
        return request.live_tokens
    wanted = 0
    for message in reversed(request.tail):
        wanted += message.tokens
        if wanted >= request.window.max_input:
            break
    return wanted


def _fill_history(
    request: AssemblyRequest, layout: Layout, frame: Frame, room: int, limit: int
) -> HistoryFill:
    ask = HistoryAsk(
        section=layout.history,
        room=room,
        planned=frame.allocation.sections.get(layout.history.name, 0),
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
    )
    return HISTORY_FILLS[layout.history.fill](ask)


def _compose(request: AssemblyRequest, layout: Layout, frame: Frame, history: HistoryFill) -> Composed:
    repaired = repair(history.messages, request.ruler.count_message)
    stored = list(repaired.messages)
    trailing = [*frame.trailing, *_timeline(request, layout, stored)]
    at = _trailing_position(stored, repaired.open_from)
    leading = next((i for i, message in enumerate(stored) if message.role != "system"), len(stored))
    ordered = [*stored[:leading], *frame.opening, *stored[leading:at], *trailing, *stored[at:]]
    if leading < len(ordered) and ordered[leading].role != "user":
        ordered.insert(
            leading, made_message({"role": "user", "content": OPENING}, request.ruler.count_message)
        )
    tokens = frame.system_tokens + sum(message.tokens for message in ordered)
    return Composed(messages=tuple(ordered), tokens=tokens, repaired=repaired)


def _trailing_position(stored: Sequence[StoredMessage], open_from: int | None) -> int:
    """Before the user's newest message or before open calls, else at the end."""
    if open_from is not None:
        return open_from
    return len(stored) - 1 if stored and stored[-1].role == "user" else len(stored)


def _timeline(
    request: AssemblyRequest, layout: Layout, stored: Sequence[StoredMessage]
) -> list[StoredMessage]:
    """The second rendering of a section with a duplication factor (W2)."""
    if layout.history.duplication_bp <= 10_000:
        return []
    lines = [f"[SEQ_ID: {m.seq}] {m.role}: {body_text(m.body)}" for m in stored if m.seq]
    body = {"role": "user", "content": "## Timeline Log\n" + "\n".join(lines)}
    return [made_message(body, request.ruler.count_message)] if lines else []


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
    report = build_report(
        request, layout, contents, frame, history, composed.messages, composed.repaired.repairs
    )
    report["tokens"] = composed.tokens + request.overhead_tokens
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
    window = request.window
    sections = [
        {"name": section.name, "needed": request.ruler.count(contents.whole_text(section))}
        for section in layout.texts
    ]
    return ContextTooLarge(
        model=request.model,
        used=window.max_input + refusal.needed - refusal.room,
        max_input=window.max_input,
        safe=window.safe,
        sections=[*sections, {"name": layout.history.name, "needed": _history_wants(request)}],
    )
