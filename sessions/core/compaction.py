"""Plans what a compaction folds, and refuses where folding cannot help; it reads counts, never words."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from sessions.core.groups import segments
from sessions.core.message import StoredMessage

FULL_BP = 10_000
# The kept tail starts at this share of its room: one cut exactly to its room would overflow at the next turn.
LOW_WATER_BP = 6_000
# A summary takes at most this share of what it replaces, and is never planned below the minimum.
SUMMARY_SHARE_BP = 2_500
SUMMARY_MINIMUM_TOKENS = 64
# Doubling stops here; 2^6 times the minimum growth is more than any window.
_MAX_DOUBLINGS = 6

RefusalReason = Literal["nothing_to_fold", "floor_too_large", "too_little_progress"]
Outcome = Literal["committed", "fallback", "refused", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldPlan:
    """Messages from_seq..to_seq become one summary, apart from those that are carried verbatim."""

    from_seq: int
    to_seq: int
    fold_tokens: int
    keep_tokens: int
    summary_budget_tokens: int
    carried: tuple[int, ...]

    def folded_ranges(self) -> tuple[tuple[int, int], ...]:
        """The folded sequence numbers as closed ranges, with gaps where messages are carried."""
        borders = [self.from_seq - 1, *self.carried, self.to_seq + 1]
        return tuple((low + 1, high - 1) for low, high in pairwise(borders) if low + 1 < high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    reason: RefusalReason
    floor_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What the last compaction left behind: the breaker's whole memory."""

    outcome: Outcome
    live_tokens_after: int
    target_tokens: int
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    keep_tokens: int
    summary_tokens: int


def plan_fold(
    messages: Sequence[StoredMessage],
    *,
    live_tokens: int,
    target_tokens: int,
    tail_room_tokens: int,
    fixed_tokens: int,
    latest_user_seq: int | None,
    pinned: Collection[int] = (),
    minimum_progress_bp: int = 1_000,
    summary_room_tokens: int | None = None,
    old_summary_tokens: int = 0,
    budget_tokens: int | None = None,
) -> FoldPlan | Refusal:
    """The deepest useful cut. `fixed_tokens` is the live view without these messages and the old summary,
    which the new one replaces; `budget_tokens` is what a floor may reach at most (else the target)."""
    groups = _groups(messages)
    kept_anyway = _kept_anyway(groups, latest_user_seq, pinned)
    movable = groups[: _first_protected(groups)]
    foldable = [m for group in movable for m in group if m.seq not in kept_anyway]
    floor = fixed_tokens + sum(m.tokens for m in messages) - sum(m.tokens for m in foldable)
    if floor > (target_tokens if budget_tokens is None else budget_tokens):
        return Refusal(reason="floor_too_large", floor_tokens=floor)
    if not foldable:
        return Refusal(reason="nothing_to_fold", floor_tokens=floor)
    room = _room(target_tokens - fixed_tokens, tail_room_tokens, summary_room_tokens)
    folded = _folded_prefix(messages, movable, kept_anyway, room)
    plan = _plan(messages, folded, kept_anyway, room, old_summary_tokens)
    after = live_tokens - plan.fold_tokens - old_summary_tokens + plan.summary_budget_tokens
    if not plan.fold_tokens or (live_tokens - after) * FULL_BP < live_tokens * minimum_progress_bp:
        return Refusal(reason="too_little_progress", floor_tokens=floor)
    return plan


def should_start(
    *,
    live_tokens: int,
    target_tokens: int,
    tail_room_tokens: int,
    minimum_progress_bp: int,
    last: Attempt | None,
    by_hand: bool = False,
) -> bool:
    """Whether a due compaction may run. Between two runs at one target the session must have grown by the
    minimum progress, doubled for every failure in a row: what was appended bounds the runs, so none loops."""
    if by_hand or last is None or target_tokens < last.target_tokens:
        return True
    growth = max(1, min(target_tokens, tail_room_tokens) * minimum_progress_bp // FULL_BP)
    return live_tokens - last.live_tokens_after >= growth << min(last.failures, _MAX_DOUBLINGS)


def _kept_anyway(
    groups: Iterable[Sequence[StoredMessage]], latest_user_seq: int | None, pinned: Collection[int]
) -> frozenset[int]:
    """Pinned messages and the latest user turn; a marked call or result keeps its whole tool group."""
    kept: set[int] = set()
    for group in groups:
        marked = [m for m in group if m.pinned or m.seq in pinned or m.seq == latest_user_seq]
        kept.update(m.seq for m in marked)
        if any(_is_tool_part(m) for m in marked):
            kept.update(m.seq for m in group if _is_tool_part(m))
    return frozenset(kept)


def _is_tool_part(message: StoredMessage) -> bool:
    return bool(message.call_ids) or message.result_id is not None


def _groups(messages: Sequence[StoredMessage]) -> list[Sequence[StoredMessage]]:
    newest_first = [messages[segment.first : segment.last + 1] for segment in segments(messages)]
    return newest_first[::-1]


def _first_protected(groups: Sequence[Sequence[StoredMessage]]) -> int:
    """Where the untouchable tail begins: the newest group, or the one whose calls wait for results."""
    for position in range(len(groups) - 1, -1, -1):
        if any(m.role == "assistant" for m in groups[position]):
            return position if _is_open(groups[position]) else len(groups) - 1
    return max(0, len(groups) - 1)


def _is_open(group: Sequence[StoredMessage]) -> bool:
    answered = {m.result_id for m in group}
    return any(call not in answered for m in group for call in m.call_ids)


def _room(free_tokens: int, tail_room_tokens: int, summary_room_tokens: int | None) -> _Room:
    """The target's free part holds tail and summary; the summary takes a quarter unless its room is known."""
    free = max(0, free_tokens)
    summary = free // 4 if summary_room_tokens is None else min(summary_room_tokens, free // 2)
    keep = min(tail_room_tokens, free - summary) * LOW_WATER_BP // FULL_BP
    return _Room(keep_tokens=max(0, keep), summary_tokens=summary)


def _folded_prefix(
    messages: Sequence[StoredMessage],
    movable: Sequence[Sequence[StoredMessage]],
    kept_anyway: frozenset[int],
    room: _Room,
) -> list[StoredMessage]:
    kept_tokens = sum(m.tokens for m in messages)
    folded: list[StoredMessage] = []
    for group in movable:
        if kept_tokens <= room.keep_tokens:
            break
        folded.extend(group)
        kept_tokens -= sum(m.tokens for m in group if m.seq not in kept_anyway)
    while folded and folded[-1].seq in kept_anyway:
        folded.pop()
    return folded


def _plan(
    messages: Sequence[StoredMessage],
    folded: Sequence[StoredMessage],
    kept_anyway: frozenset[int],
    room: _Room,
    old_summary_tokens: int,
) -> FoldPlan:
    carried = tuple(m.seq for m in folded if m.seq in kept_anyway)
    fold_tokens = sum(m.tokens for m in folded if m.seq not in kept_anyway)
    share = max(SUMMARY_MINIMUM_TOKENS, fold_tokens * SUMMARY_SHARE_BP // FULL_BP)
    return FoldPlan(
        from_seq=folded[0].seq if folded else messages[0].seq,
        to_seq=folded[-1].seq if folded else messages[0].seq - 1,
        fold_tokens=fold_tokens,
        keep_tokens=sum(m.tokens for m in messages) - fold_tokens,
        # What was summarised before keeps its room: only the newly folded part is squeezed.
        summary_budget_tokens=min(room.summary_tokens, share + old_summary_tokens),
        carried=carried,
    )
