"""What the fill strategies of the history share: what they are asked and answer, and what is always kept."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from budgets.core.policy import SectionPolicy
from sessions.core.clipping import FLOOR_TOKENS, clip_together
from sessions.core.errors import NoRoom
from sessions.core.groups import group_of, newest_group, open_calls
from sessions.core.message import StoredMessage
from sessions.core.request import Anchors, Cut, Ruler


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryAsk:
    """`room` is in tokens and changes from turn to turn; `planned` and `usable` stay the same.

    `last_resort`: the other sections have given what they can, so pinned content may be clipped.
    """

    section: SectionPolicy
    room: int
    planned: int
    usable: int
    ruler: Ruler
    tail: Sequence[StoredMessage]
    head: Sequence[StoredMessage]
    middle: Sequence[StoredMessage]
    anchors: Anchors
    base_seq: int
    cut_seq: int
    head_seq: int
    live_tokens: int | None
    sticky: bool
    last_resort: bool

    @property
    def offered(self) -> int:
        return max(self.head_seq - self.base_seq, 0)

    def is_whole(self, first: StoredMessage) -> bool:
        """Whether nothing of the live view stands before this message."""
        return first.seq <= self.base_seq + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFill:
    """Messages in the order of the output; `clipped` are the sequence numbers that were shortened.

    `cut_seq` is the boundary to come back to; 0 for a fill that finds a new one at every turn.
    """

    messages: tuple[StoredMessage, ...]
    cut_seq: int = 0
    clipped: frozenset[int] = frozenset()
    cuts: tuple[Cut, ...] = ()
    figures: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is always sent, by sequence number and clipped where it must be."""

    messages: dict[int, StoredMessage]
    clipped: frozenset[int] = frozenset()
    cuts: tuple[Cut, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(message.tokens for message in self.messages.values())

    def before(self, seq: int) -> list[StoredMessage]:
        return [self.messages[known] for known in sorted(self.messages) if known < seq]


def always_kept(ask: HistoryAsk, *, with_newest: bool = True) -> Kept:
    """The opening system messages, goal, latest user turn, newest group, open calls and everything pinned."""
    anchors = ask.anchors
    newest = (*open_calls(ask.tail), *newest_group(ask.tail)) if with_newest else ()
    firm = {m.seq: m for m in (*anchors.system, *(pin for pin in anchors.pinned if pin.pinned))}
    users = [user for user in (anchors.first_user, anchors.latest_user) if user is not None]
    soft = {m.seq: m for m in (*users, *_with_groups(ask), *newest) if m.seq not in firm}
    everything = {**firm, **soft}
    if _tokens(everything.values()) <= ask.room:
        return Kept(messages=everything)
    room = ask.room - _tokens(firm.values())
    if room >= _floor(soft.values()):
        return _clipped_to(soft, room, ask, firm)
    is_one_oversized = any(message.tokens > ask.room // 2 for message in firm.values())
    if ask.last_resort and is_one_oversized and ask.room >= _floor(everything.values()):
        return _clipped_to(everything, ask.room, ask, {})
    needed = _tokens(firm.values()) + _floor(soft.values())
    raise NoRoom(section=ask.section.name, needed=needed, room=ask.room)


def _with_groups(ask: HistoryAsk) -> Iterator[StoredMessage]:
    """Pinned messages, with the rest of their groups where the tail holds it."""
    for pin in ask.anchors.pinned:
        index = bisect_left(ask.tail, pin.seq, key=lambda message: message.seq)
        is_held = index < len(ask.tail) and ask.tail[index].seq == pin.seq
        yield from group_of(ask.tail, index) if is_held else (pin,)


def clip_cut(message: StoredMessage, clipped: StoredMessage) -> Cut:
    lost = message.tokens - clipped.tokens
    return Cut(
        reason="clipped", detail=f"{message.role} message larger than its room", tokens=lost, seq=message.seq
    )


def changed_of(originals: Iterable[StoredMessage], shown: dict[int, StoredMessage]) -> list[Cut]:
    return [clip_cut(m, shown[m.seq]) for m in originals if shown[m.seq] is not m]


def _clipped_to(
    messages: dict[int, StoredMessage], room: int, ask: HistoryAsk, firm: dict[int, StoredMessage]
) -> Kept:
    ladder = ask.usable if ask.sticky else None
    shown = clip_together(tuple(messages.values()), room, ask.ruler, ladder=ladder)
    cuts = changed_of(messages.values(), shown)
    seqs = frozenset(cut.seq for cut in cuts if cut.seq is not None)
    return Kept(messages={**firm, **shown}, clipped=seqs, cuts=tuple(cuts))


def _tokens(messages: Iterable[StoredMessage]) -> int:
    return sum(message.tokens for message in messages)


def _floor(messages: Iterable[StoredMessage]) -> int:
    return sum(min(message.tokens, FLOOR_TOKENS) for message in messages)
