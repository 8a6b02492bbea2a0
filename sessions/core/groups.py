"""Which messages belong together: a tool call and all its results are kept or left out as one."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sessions.core.message import StoredMessage

# How far behind a result its call is looked for: one without a call would cost the whole history.
LOOKBACK_MESSAGES = 256
# Calls that are older than this many messages and still unanswered never will be answered.
OPEN_CALL_MESSAGES = 64

_NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Segment:
    """The messages first..last (indexes) that no cut may separate, and what they cost."""

    first: int
    last: int
    tokens: int


@dataclass(frozen=True, slots=True)
class TailFit:
    """The messages from index `first` on, and what they cost."""

    first: int
    tokens: int


def fit_tail(
    messages: Sequence[StoredMessage], room: int, *, free: Collection[int] = _NOTHING, after: int = 0
) -> TailFit:
    """The longest tail of whole segments within the room: walks from the newest message and stops.

    Sequence numbers in `free` are paid for elsewhere; nothing up to the sequence number `after` is taken.
    """
    first, tokens = len(messages), 0
    for segment in segments(messages, room=room, free=free, after=after):
        first, tokens = segment.first, tokens + segment.tokens
    return TailFit(first, tokens)


def segments(
    messages: Sequence[StoredMessage],
    *,
    room: int | None = None,
    free: Collection[int] = _NOTHING,
    after: int = 0,
    before: int | None = None,
) -> Iterator[Segment]:
    """Whole segments from the newest message (or the index `before`) back to the sequence number `after`.

    With `room` the walk ends inside a segment that cannot fit any more.
    """
    end = len(messages) if before is None else before
    index = last = end - 1
    needed = resolved = end
    spent = yielded = 0
    while index >= 0 and (message := messages[index]).seq > after:
        if message.seq not in free:
            spent += message.tokens
            if message.result_id is not None and index < resolved:
                reach, resolved = _calls_of_run(messages, index, after)
                needed = min(needed, reach)
        if room is not None and spent > room:
            return
        if index <= needed:
            yield Segment(index, last, spent - yielded)
            last, yielded = index - 1, spent
        index -= 1


def newest_group(messages: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """The newest message, with its call and that call's other results when it is a tool result."""
    return group_of(messages, len(messages) - 1) if messages else ()


def group_of(messages: Sequence[StoredMessage], index: int) -> tuple[StoredMessage, ...]:
    """The message at the index with everything that must accompany it, in order."""
    call = _call_of(messages, index)
    if call is None:
        return (messages[index],)
    waiting = set(messages[call].call_ids)
    group = [messages[call]]
    for position in range(call + 1, min(len(messages), call + 1 + LOOKBACK_MESSAGES)):
        if not waiting or waiting.intersection(messages[position].call_ids):
            break
        if messages[position].result_id in waiting:
            group.append(messages[position])
            waiting.discard(str(messages[position].result_id))
    # A second result to one call belongs to no group, yet it may be the newest message.
    return tuple(group) if messages[index] in group else (*group, messages[index])


def open_calls(messages: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """The newest calls whose results are not all there yet, with the results that are."""
    answered: set[str] = set()
    found: list[StoredMessage] = []
    for index in range(len(messages) - 1, max(-1, len(messages) - 1 - OPEN_CALL_MESSAGES), -1):
        message = messages[index]
        if message.result_id is not None:
            answered.add(message.result_id)
        elif message.call_ids:
            if answered.issuperset(message.call_ids):
                break
            found = [*group_of(messages, index), *found]
    return tuple(found)


def _call_of(messages: Sequence[StoredMessage], index: int) -> int | None:
    if messages[index].call_ids:
        return index
    result_id = messages[index].result_id
    if result_id is None:
        return None
    behind = range(index - 1, max(-1, index - 1 - LOOKBACK_MESSAGES), -1)
    return next((position for position in behind if result_id in messages[position].call_ids), None)


def _calls_of_run(messages: Sequence[StoredMessage], index: int, after: int) -> tuple[int, int]:
    """For the run of results that ends at index: the oldest call they answer, and where the run starts."""
    wanted: set[str] = set()
    start = index
    while start >= 0 and (result_id := messages[start].result_id) is not None and messages[start].seq > after:
        wanted.add(result_id)
        start -= 1
    reach = index
    for position in range(start, max(-1, start - LOOKBACK_MESSAGES), -1):
        candidate = messages[position]
        if not wanted or candidate.seq <= after:
            break
        if answered := wanted.intersection(candidate.call_ids):
            reach = position
            wanted -= answered
    return reach, start + 1
