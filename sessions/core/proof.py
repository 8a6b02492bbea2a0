"""What proves an assembly: whether its output is valid and how much of its prefix is unchanged."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from json import dumps
from typing import Any

from sessions.core.message import StoredMessage
from sessions.core.request import PrefixPiece


def is_valid(messages: Sequence[StoredMessage], open_from: int | None) -> bool:
    """A user first; results right behind their calls; every call answered, but for open ones at the end."""
    first = next((message.role for message in messages if message.role != "system"), "user")
    waiting: set[object] = set()
    for message in messages:
        if message.role == "tool":
            call_id = message.body.get("tool_call_id")
            if call_id not in waiting:
                return False
            waiting.discard(call_id)
        elif waiting:
            return False
        if message.call_ids:
            waiting = {call.get("id") for call in message.body["tool_calls"] if isinstance(call, dict)}
    return first == "user" and (not waiting or open_from is not None)


def prefix_pieces(
    system: str, system_tokens: int, messages: Sequence[StoredMessage], changed: frozenset[int]
) -> tuple[PrefixPiece, ...]:
    """A run of untouched messages is one piece, named by sequence numbers: stored messages never change."""
    pieces: list[PrefixPiece] = [(system_tokens, _digest(system))] if system else []
    run: list[StoredMessage] = []
    for message in messages:
        if message.seq and message.seq not in changed:
            if run and message.seq != run[-1].seq + 1:
                pieces.append(_run_piece(run))
                run = []
            run.append(message)
            continue
        if run:
            pieces.append(_run_piece(run))
            run = []
        pieces.append((message.tokens, _digest(dumps(message.body, sort_keys=True, default=str))))
    return (*pieces, _run_piece(run)) if run else tuple(pieces)


def stable_tokens(previous: Iterable[PrefixPiece], current: Iterable[PrefixPiece]) -> int:
    """Tokens at the beginning that are byte for byte what was sent last time."""
    total = 0
    for (old_tokens, old_key), (new_tokens, new_key) in zip(previous, current, strict=False):
        if old_key != new_key:
            return total + _shared_run(old_tokens, old_key, new_tokens, new_key)
        total += new_tokens
    return total


def _shared_run(old_tokens: int, old_key: str, new_tokens: int, new_key: str) -> int:
    """Two runs that start at the same message share the shorter one."""
    old_first, _, old_last = old_key.partition("-")
    new_first, _, new_last = new_key.partition("-")
    if not old_last or not new_last or old_first != new_first:
        return 0
    return old_tokens if int(old_last) < int(new_last) else new_tokens


def _run_piece(run: Sequence[StoredMessage]) -> PrefixPiece:
    return sum(message.tokens for message in run), f"{run[0].seq}-{run[-1].seq}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def section_row(
    name: str, *, planned: int, used: int, kept: int, dropped: int, cuts: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "name": name,
        "planned": planned,
        "used": used,
        "borrowed": max(used - planned, 0),
        "kept": kept,
        "dropped": dropped,
        "cuts": list(cuts),
    }
