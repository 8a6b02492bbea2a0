"""priority: memory entries by pin, priority and recency, to the section's budget (R13)."""

from collections.abc import Sequence

from sessions.core.errors import NoRoom
from sessions.core.fills.text import Filled, TextAsk, clip_text
from sessions.core.message import MemoryItem
from sessions.core.request import Cut


def by_rank(items: Sequence[MemoryItem]) -> list[MemoryItem]:
    return sorted(items, key=lambda item: (not item.pinned, -item.priority, -item.seq, item.id))


def by_creation(items: Sequence[MemoryItem]) -> list[MemoryItem]:
    """The order in which they are written: a new entry leaves the lines before it as they were."""
    return sorted(items, key=lambda item: (item.seq, item.id))


def fill_priority(ask: TextAsk) -> Filled:
    """Pinned entries are always kept; one that alone exceeds the section is clipped with a mark."""
    kept = _chosen(ask)
    text = _written(ask, kept)
    while ask.cost(text) > ask.room and kept and not kept[-1].pinned:
        # Counts of single entries do not quite add up to the count of the block.
        kept.pop()
        text = _written(ask, kept)
    tokens = ask.cost(text)
    if tokens > ask.hard_room:
        raise NoRoom(section=ask.section.name, needed=tokens, room=ask.hard_room)
    return Filled(
        text=text, tokens=tokens, kept=len(kept), dropped=len(ask.memory) - len(kept), cuts=_cuts(ask, kept)
    )


def _chosen(ask: TextAsk) -> list[MemoryItem]:
    """In rank order, each entry that still fits."""
    kept: list[MemoryItem] = []
    ranked = by_rank(ask.memory)
    if _fits_whole(ask):
        return ranked
    used, words = ask.cost(ask.text or "."), len(ask.text.split())
    for item in ranked:
        fits = used + item.tokens + 1 <= ask.room
        if ask.words is not None:
            fits = fits and words + len(item.text.split()) <= ask.words
        if item.pinned or fits:
            kept.append(item)
            used += item.tokens + 1
            words += len(item.text.split())
    return kept


def _fits_whole(ask: TextAsk) -> bool:
    text = "\n".join(filter(None, [ask.text, *(item.text for item in by_creation(ask.memory))]))
    return ask.cost(text) <= ask.room and (ask.words is None or len(text.split()) <= ask.words)


def _written(ask: TextAsk, kept: Sequence[MemoryItem]) -> str:
    return "\n".join(filter(None, [ask.text, *(_line(ask, item) for item in by_creation(kept))]))


def _line(ask: TextAsk, item: MemoryItem) -> str:
    if not _is_oversized(ask, item):
        return item.text
    if not (clipped := clip_text(ask, item.text)):
        raise NoRoom(section=ask.section.name, needed=item.tokens, room=ask.room)
    return clipped


def _is_oversized(ask: TextAsk, item: MemoryItem) -> bool:
    return item.pinned and 0 < ask.room < item.tokens


def _cuts(ask: TextAsk, kept: Sequence[MemoryItem]) -> tuple[Cut, ...]:
    ids = {item.id for item in kept}
    left_out = (
        Cut(reason="over_budget", detail=f"memory {item.id}", tokens=item.tokens)
        for item in ask.memory
        if item.id not in ids
    )
    clipped = (
        Cut(reason="clipped", detail=f"memory {item.id}", tokens=item.tokens - ask.room)
        for item in kept
        if _is_oversized(ask, item)
    )
    return (*clipped, *left_out)
