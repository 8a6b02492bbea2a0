"""newest_first: the walk of D4, newest to oldest until the first labelled message that does not fit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sessions.core.clipping import clip_together, water_level
from sessions.core.fills.history import HistoryAsk, HistoryFill, Kept, always_kept, changed_of
from sessions.core.fills.text import cut_words
from sessions.core.groups import Segment, fit_tail, segments
from sessions.core.message import StoredMessage, body_text

_MARK = " [clipped]"


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A view of the tail with labels; `in_words` makes the walk count words instead of tokens."""

    messages: Sequence[StoredMessage]
    ask: HistoryAsk
    in_words: bool

    def __len__(self) -> int:
        return len(self.messages)

    def __getitem__(self, index: int) -> StoredMessage:
        shown = labelled(self.messages[index], self.ask)
        return replace(shown, tokens=shown.words) if self.in_words else shown


def labelled(message: StoredMessage, ask: HistoryAsk) -> StoredMessage:
    """A message of a named speaker begins with the name; the others are labelled by their role already."""
    speaker, content = message.body.get("name"), message.body.get("content")
    if (
        message.role not in ("user", "assistant")
        or not isinstance(speaker, str)
        or not isinstance(content, str)
    ):
        return message
    body = {**message.body, "content": f"{speaker}: {content}"}
    return replace(
        message, body=body, tokens=ask.ruler.count_message(body), words=message.words + len(speaker.split())
    )


def fill_newest_first(ask: HistoryAsk) -> HistoryFill:
    """The user's message stands outside the limit."""
    ask = replace(ask, anchors=replace(ask.anchors, first_user=None))
    kept = always_kept(ask, with_newest=False)
    room = ask.room - kept.tokens
    words = ask.section.size.amount if ask.section.size.kind == "words" else None
    limit = room if ask.section.borrows or words is not None else min(room, ask.planned)
    first = _first(ask, kept, limit, words)
    newest = next((s for s in segments(ask.tail, free=kept.messages, after=ask.base_seq) if s.tokens), None)
    if newest is None or first <= newest.first:
        return _filled(ask, kept, first, {})
    return _filled(ask, kept, newest.first, _clipped(ask, kept, newest, limit, words))


def _first(ask: HistoryAsk, kept: Kept, limit: int, words: int | None) -> int:
    first = fit_tail(_view(ask, in_words=False), limit, free=kept.messages, after=ask.base_seq).first
    if words is None:
        return first
    return max(
        first, fit_tail(_view(ask, in_words=True), words, free=kept.messages, after=ask.base_seq).first
    )


def _view(ask: HistoryAsk, *, in_words: bool) -> Sequence[StoredMessage]:
    return _Labelled(ask.tail, ask, in_words)  # type: ignore[return-value]


def _clipped(
    ask: HistoryAsk, kept: Kept, newest: Segment, limit: int, words: int | None
) -> dict[int, StoredMessage]:
    """The newest segment when it alone exceeds the limit: cut, not dropped."""
    paid = [labelled(m, ask) for m in ask.tail[newest.first : newest.last + 1] if m.seq not in kept.messages]
    if words is not None:
        level = water_level([message.words for message in paid], words)
        paid = [_cut_to_words(message, level, ask) for message in paid]
    return clip_together(paid, limit, ask.ruler)


def _cut_to_words(message: StoredMessage, limit: int, ask: HistoryAsk) -> StoredMessage:
    if message.words <= limit:
        return message
    body = {**message.body, "content": cut_words(body_text(message.body), limit - 1) + _MARK}
    return replace(message, body=body, tokens=ask.ruler.count_message(body), words=limit)


def _filled(ask: HistoryAsk, kept: Kept, first: int, shown: dict[int, StoredMessage]) -> HistoryFill:
    tail = ask.tail[first:]
    shown = {**{m.seq: labelled(m, ask) for m in tail}, **shown, **kept.messages}
    paid = (m for m in tail if m.seq in shown and m.seq not in kept.messages)
    cuts = changed_of((m for m in paid if _is_cut(m, shown[m.seq])), shown)
    start = tail[0].seq if tail else ask.head_seq + 1
    return HistoryFill(
        messages=(*kept.before(start), *(shown[m.seq] for m in tail)),
        clipped=kept.clipped | {m.seq for m in tail if shown[m.seq] is not m},
        cuts=(*kept.cuts, *cuts),
    )


def _is_cut(message: StoredMessage, shown: StoredMessage) -> bool:
    return shown.words < message.words or shown.tokens < message.tokens
