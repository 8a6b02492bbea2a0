"""head_middle_tail: start and end of a story, and between them a marker with the key events (W3-W5)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sessions.core.blocks import made_block
from sessions.core.clipping import clip_together
from sessions.core.errors import NoRoom
from sessions.core.fills.history import HistoryAsk, HistoryFill, Kept, always_kept, changed_of
from sessions.core.groups import segments
from sessions.core.message import StoredMessage, body_text
from sessions.core.story import StoryRules, Turns, key_events, planned_turns, reductions, story_rules

MARKER = "[{count:,} turns of the story are left out here.]"
EVENTS = "## Key Events"
# More turns than this are not searched for key events.
MIDDLE_TURNS = 200

Turn = tuple[StoredMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Story:
    """The turns that are loaded at both ends, how many there are in all, and what they cost."""

    first: tuple[Turn, ...]
    last: tuple[Turn, ...]
    turns: int
    tokens: int
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What stands before and after the marker."""

    before: tuple[StoredMessage, ...]
    after: tuple[StoredMessage, ...]

    @property
    def messages(self) -> tuple[StoredMessage, ...]:
        return (*self.before, *self.after)

    def around(self, middle: StoredMessage) -> tuple[StoredMessage, ...]:
        return (*self.before, middle, *self.after)


def fill_head_middle_tail(ask: HistoryAsk) -> HistoryFill:
    rules = story_rules(ask.room, ask.section.options)
    story = _story(ask)
    figures = _figures(ask, rules, story)
    kept = always_kept(ask)
    if story.is_whole and _tokens(whole := _whole(ask, story, kept)) <= ask.room:
        return _reported(HistoryFill(messages=whole), figures, Turns(start=story.turns, end=0))
    planned = planned_turns(rules, turns=story.turns, tokens=story.tokens)
    figures["turns_before"] = {"start": planned.start, "end": planned.end}
    for turns in reductions(planned, rules):
        parts = _parts(story, turns, kept)
        marker = _marker(ask, story, turns)
        if _tokens(parts.messages) + marker.tokens > ask.room:
            continue
        middle = _with_events(ask, marker, parts, rules.shares.middle)
        if _tokens(parts.messages) + middle.tokens <= ask.room:
            return _reported(_filled(kept, parts.around(middle)), figures, turns)
    left = min(rules.shares.middle, ask.room - _tokens(parts.messages) - marker.tokens)
    middle = _with_events(ask, marker, parts, left)
    return _reported(_at_the_floor(ask, _filled(kept, parts.around(middle))), figures, turns)


def _story(ask: HistoryAsk) -> _Story:
    whole = bool(ask.tail) and ask.is_whole(ask.tail[0])
    last = _turns(ask.tail, ask.base_seq)
    first = last if whole else _turns(ask.head, ask.base_seq)
    turns = len(last) if whole else ask.offered
    loaded = sum(m.tokens for turn in last for m in turn)
    tokens = loaded if whole else ask.live_tokens
    if tokens is None:
        tokens = loaded * turns // max(len(last), 1)
    return _Story(first=first, last=last, turns=turns, tokens=tokens, is_whole=whole or not ask.tail)


def _whole(ask: HistoryAsk, story: _Story, kept: Kept) -> tuple[StoredMessage, ...]:
    return (*kept.before(ask.base_seq + 1), *(m for turn in story.first for m in turn))


def _turns(messages: Sequence[StoredMessage], after: int) -> tuple[Turn, ...]:
    found = [tuple(messages[s.first : s.last + 1]) for s in segments(messages, after=after)]
    return tuple(reversed(found))


def _parts(story: _Story, turns: Turns, kept: Kept) -> _Parts:
    start = [m for turn in story.first[: turns.start] for m in turn]
    end = [m for turn in story.last[max(len(story.last) - turns.end, 0) :] for m in turn]
    sent = {m.seq for m in (*start, *end)}
    others = [kept.messages[seq] for seq in sorted(kept.messages) if seq not in sent]
    early = [m for m in others if start and m.seq < start[0].seq]
    late = [m for m in others if m not in early]
    return _Parts(
        before=(*early, *(kept.messages.get(m.seq, m) for m in start)),
        after=(*late, *(kept.messages.get(m.seq, m) for m in end)),
    )


def _filled(kept: Kept, messages: tuple[StoredMessage, ...]) -> HistoryFill:
    return HistoryFill(messages=messages, clipped=kept.clipped, cuts=kept.cuts)


def _marker(ask: HistoryAsk, story: _Story, turns: Turns) -> StoredMessage:
    text = MARKER.format(count=max(story.turns - turns.start - turns.end, 0))
    return made_block(text, ask.ruler)


def _with_events(ask: HistoryAsk, marker: StoredMessage, parts: _Parts, room: int) -> StoredMessage:
    """The marker with the key events of the turns between the parts, those in at most `room` tokens."""
    left = room - ask.ruler.count(f"\n\n{EVENTS}\n")
    sent = {m.seq for m in parts.messages}
    events = key_events(_dropped_texts(ask, sent), left, ask.ruler.count) if left > 0 else ""
    if not events:
        return marker
    text = f"{marker.body['content']}\n\n{EVENTS}\n{events}"
    return made_block(text, ask.ruler)


def _dropped_texts(ask: HistoryAsk, sent: set[int]) -> list[str]:
    loaded = {
        m.seq: m for m in (*ask.head, *ask.middle, *ask.tail) if m.seq > ask.base_seq and m.seq not in sent
    }
    dropped = [loaded[seq] for seq in sorted(loaded) if loaded[seq].role in ("user", "assistant")]
    step = -(-len(dropped) // MIDDLE_TURNS) or 1
    return [body_text(message.body) for message in dropped[::step]]


def _at_the_floor(ask: HistoryAsk, filled: HistoryFill) -> HistoryFill:
    """Even the minimum is too large: only a single message that alone exceeds the room may be clipped."""
    messages = filled.messages
    total = _tokens(messages)
    if all(message.tokens <= ask.room for message in messages):
        raise NoRoom(section=ask.section.name, needed=total, room=ask.room)
    stored = [message for message in messages if message.seq]
    shown = clip_together(stored, ask.room - (total - _tokens(stored)), ask.ruler, ladder=ask.usable)
    clipped = tuple(shown.get(message.seq, message) if message.seq else message for message in messages)
    if _tokens(clipped) > ask.room:
        raise NoRoom(section=ask.section.name, needed=_tokens(clipped), room=ask.room)
    cuts = changed_of(stored, shown)
    seqs = {cut.seq for cut in cuts if cut.seq is not None}
    return HistoryFill(messages=clipped, clipped=filled.clipped | seqs, cuts=(*filled.cuts, *cuts))


def _figures(ask: HistoryAsk, rules: StoryRules, story: _Story) -> dict[str, object]:
    return {
        "story_budget": ask.room,
        "actual": story.tokens,
        "over": story.tokens > ask.room,
        "average_tokens_per_turn": story.tokens // max(story.turns, 1),
        "start_budget": rules.shares.start,
        "middle_budget": rules.shares.middle,
        "end_budget": rules.shares.end,
        "turns_before": {"start": story.turns, "end": 0},
    }


def _reported(filled: HistoryFill, figures: dict[str, object], turns: Turns) -> HistoryFill:
    after = {"start": turns.start, "end": turns.end}
    return HistoryFill(
        messages=filled.messages,
        clipped=filled.clipped,
        cuts=filled.cuts,
        figures={**figures, "turns_after": after},
    )


def _tokens(messages: Sequence[StoredMessage]) -> int:
    return sum(message.tokens for message in messages)
