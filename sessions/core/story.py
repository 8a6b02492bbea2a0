"""How many turns of a long story are kept at its start and end, and the key events between them."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from budgets.core.policy_schema import STORY_OPTIONS
from budgets.core.story import StoryShares, story_shares

# The adaptive loop takes this many turns at a time (W4).
STEP_TURNS = 2
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_WORD = re.compile(r"\w{3,}")
EVENT_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryRules:
    """The shares of the story's budget and the limits of its turns."""

    shares: StoryShares
    cap_start: int
    cap_end: int
    min_start: int
    min_end: int


def story_rules(budget: int, options: Mapping[str, Any]) -> StoryRules:
    filled = {**STORY_OPTIONS, **options}
    return StoryRules(
        shares=story_shares(budget, options),
        cap_start=filled["cap_start"],
        cap_end=filled["cap_end"],
        min_start=filled["min_start"],
        min_end=filled["min_end"],
    )


def planned_turns(rules: StoryRules, *, turns: int, tokens: int) -> Turns:
    """Turns from the average tokens per turn; at most half of them at the start, no overlap."""
    start = min(rules.shares.start * turns // max(tokens, 1), rules.cap_start)
    start = min(max(start, rules.min_start), turns // 2)
    end = min(rules.shares.end * turns // max(tokens, 1), rules.cap_end)
    end = min(max(end, rules.min_end), turns - start)
    return Turns(start=start, end=end)


def reductions(planned: Turns, rules: StoryRules) -> Iterator[Turns]:
    """The plan and every smaller one down to the minimums: recent turns are the last to go."""
    start, end = planned.start, planned.end
    while True:
        yield Turns(start=start, end=end)
        if start > rules.min_start and start >= end:
            start = max(start - STEP_TURNS, rules.min_start)
        elif end > rules.min_end:
            end = max(end - STEP_TURNS, rules.min_end)
        elif start > rules.min_start:
            start = max(start - STEP_TURNS, rules.min_start)
        else:
            return


def key_events(texts: Sequence[str], room: int, count: Callable[[str], int]) -> str:
    """One line for each of as many turns as fit, spread evenly, each the sentence with the rarest words."""
    lines = _event_lines([text for text in texts if text.strip()])
    fitting = len(lines)
    while fitting:
        spread = [lines[index * len(lines) // fitting] for index in range(fitting)]
        written = "\n".join(spread)
        tokens = count(written)
        if tokens <= room:
            return written
        fitting = min(fitting - 1, fitting * room // tokens)
    return ""


def _event_lines(texts: Sequence[str]) -> list[str]:
    seen = Counter(word for text in texts for word in {w.lower() for w in _WORD.findall(text)})
    return [f"- {_salient(text, seen)[:EVENT_CHARACTERS]}" for text in texts]


def _salient(text: str, seen: Counter[str]) -> str:
    sentences = [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]
    return max(sentences, key=lambda sentence: _rarity(sentence, seen))


def _rarity(sentence: str, seen: Counter[str]) -> int:
    """Each word counts the more the fewer turns use it, in thousandths; the 20 rarest words count."""
    words = {word.lower() for word in _WORD.findall(sentence)}
    return sum(sorted((1000 // max(seen[word], 1) for word in words), reverse=True)[:20])
