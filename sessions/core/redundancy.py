"""Says what stands twice: exact lines of the summary in memory (D3), and near-duplicates (D6)."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\w+")
# A line is a near-duplicate when 80 % of its three-word shingles stand elsewhere; short lines are left alone.
SHINGLE_WORDS = 3
NEAR_SHARE_BP = 8_000
NEAR_MINIMUM_WORDS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduped:
    text: str
    removed: tuple[str, ...]


def normalise(line: str) -> str:
    return line.strip().lower()


def dedupe_lines(text: str, against: str) -> Deduped:
    """The text without the non-empty lines that stand in `against`; everything else is untouched."""
    known = {normalise(line) for line in against.splitlines()} - {""}
    return _without(text, lambda line: normalise(line) in known)


def dedupe_near(text: str, against: Iterable[str]) -> Deduped:
    """The text without the lines that say nearly the same as a line of the others."""
    known = [shingles for other in against for line in other.splitlines() if (shingles := _shingles(line))]
    return _without(text, lambda line: is_near(_shingles(line), known))


def is_near_text(text: str, others: Sequence[str]) -> bool:
    """Whether a whole text nearly stands inside one of the others."""
    return is_near(_shingles(text), [_shingles(other) for other in others])


def is_near(shingles: frozenset[str], known: Sequence[frozenset[str]]) -> bool:
    """Containment, not likeness: what a longer text says in full need not be said again."""
    if not shingles:
        return False
    return any(len(shingles & other) * 10_000 >= NEAR_SHARE_BP * len(shingles) for other in known)


def lost_twins(removed: Sequence[str], kept: str) -> tuple[str, ...]:
    """Removed lines whose twin was cut afterwards, so that they now stand nowhere (D2)."""
    known = {normalise(line) for line in kept.splitlines()}
    return tuple(line for line in removed if normalise(line) not in known)


def _without(text: str, is_twin: Callable[[str], bool]) -> Deduped:
    kept: list[str] = []
    removed: list[str] = []
    for line in text.splitlines(keepends=True):
        (removed if line.strip() and is_twin(line) else kept).append(line)
    return Deduped(text="".join(kept), removed=tuple(line.strip() for line in removed))


def _shingles(text: str) -> frozenset[str]:
    words = _WORD.findall(text.lower())
    if len(words) < NEAR_MINIMUM_WORDS:
        return frozenset()
    return frozenset(" ".join(words[i : i + SHINGLE_WORDS]) for i in range(len(words) - SHINGLE_WORDS + 1))
