"""head_middle_tail: start and end of a story, and between them a marker with the key events (W3-W5)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sessions.core.clipping import clip_together
from sessions.core.errors import NoRoom
from sessions.core.fills.history import HistoryAsk, HistoryFill, Kept, always_kept, changed_of
from sessions.core.groups import segments
from sessions.core.message import StoredMessage, body_text
from sessions.core.repair import made_message
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


def fill_head_middle_tail(ask: HistoryAsk) -> HistoryFill:
    rules = story_rules(ask.room, ask.section.options)
    story = _story(ask, rules)
    figures = _figures(ask, rules, story)
    kept = always_kept(ask)
    if story.is_whole and (whole := _whole(ask, story, kept)) and _tokens(whole.messages) <= ask.room:
        return _reported(whole, figures, Turns(start=story.turns, end=0))
    planned = planned_turns(rules, turns=story.turns, tokens=story.tokens)
    figures["turns_before"] = {"start": planned.start, "end": planned.end}
    for turns in reductions(planned, rules):
        filled = _attempt(ask, rules, story, turns, kept)
        if _tokens(filled.messages) <= ask.room:
            return _reported(filled, figures, turns)
    return _reported(_at_the_floor(ask, filled), figures, turns)


def _story(ask: HistoryAsk, rules: StoryRules) -> _Story:
    whole = bool(ask.tail) and ask.is_whole(ask.tail[0])
    last = _turns(ask.tail, ask.base_seq)
    first = last if whole else _turns(ask.head, ask.base_seq)
    turns = len(last) if whole else ask.offered
    loaded = sum(m.tokens for turn in last for m in turn)
    tokens = loaded if whole else ask.live_tokens
    if tokens is None:
        tokens = loaded * turns // max(len(last), 1)
    return _Story(first=first, last=last, turns=turns, tokens=tokens, is_whole=whole or not ask.tail)


def _whole(ask: HistoryAsk, story: _Story, kept: Kept) -> HistoryFill:
    everything = (m for turn in story.first for m in turn)
    return HistoryFill(messages=(*kept.before(ask.base_seq + 1), *everything), cut_seq=0)


def _turns(messages: Sequence[StoredMessage], after: int) -> tuple[Turn, ...]:
    found = [tuple(messages[s.first : s.last + 1]) for s in segments(messages, after=after)]
    return tuple(reversed(found))


def _attempt(ask: HistoryAsk, rules: StoryRules, story: _Story, turns: Turns, kept: Kept) -> HistoryFill:
    start = [m for turn in story.first[: turns.start] for m in turn]
    end = [m for turn in story.last[len(story.last) - turns.end :] for m in turn] if turns.end else []
    sent = {m.seq for m in (*start, *end)}
    between = [kept.messages[seq] for seq in sorted(kept.messages) if seq not in sent]
    early = [m for m in between if start and m.seq < start[0].seq]
    late = [m for m in between if m not in early]
    middle = _marker(ask, rules, story, turns, sent | set(kept.messages))
    shown = [kept.messages.get(m.seq, m) for m in start], [kept.messages.get(m.seq, m) for m in end]
    last_cut = end[0].seq - 1 if end else ask.head_seq
    return HistoryFill(
        messages=(*early, *shown[0], middle, *late, *shown[1]),
        cut_seq=last_cut,
        clipped=kept.clipped,
        cuts=kept.cuts,
    )


def _marker(ask: HistoryAsk, rules: StoryRules, story: _Story, turns: Turns, sent: set[int]) -> StoredMessage:
    text = MARKER.format(count=max(story.turns - turns.start - turns.end, 0))
    if rules.shares.middle:
        events = key_events(
            _dropped_texts(ask, sent), rules.shares.middle - ask.ruler.count(EVENTS) - 2, ask.ruler.count
        )
        text = f"{text}\n\n{EVENTS}\n{events}" if events else text
    return made_message({"role": "user", "content": text}, ask.ruler.count_message)


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
    return HistoryFill(
        messages=clipped, cut_seq=filled.cut_seq, clipped=filled.clipped | seqs, cuts=(*filled.cuts, *cuts)
    )


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
        cut_seq=filled.cut_seq,
        clipped=filled.clipped,
        cuts=filled.cuts,
        figures={**figures, "turns_after": after},
    )


def _tokens(messages: Sequence[StoredMessage]) -> int:
    return sum(message.tokens for message in messages)
