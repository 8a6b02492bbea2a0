"""What a summary must keep, how much of that its room allows, and what was found when it was checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sessions.core.groups import open_calls
from sessions.core.message import StoredMessage, body_text
from sessions.core.reading import tool_calls
from sessions.core.summary import facts
from sessions.core.verification import Missing, Required, numbers_in, required_from, verify
from sessions.models import AgentSession
from sessions.services.frames import Frame
from sessions.services.store import section_texts

# Beyond this a list of names is no summary any more; the ledger of the built-in one goes on by weight.
MAX_NAMES = 40
MAX_OPEN_ITEMS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What is folded, and what of it must be found again afterwards."""

    messages: Sequence[StoredMessage]
    previous: str
    required: Required
    budget_tokens: int


def required_of(
    session: AgentSession, frame: Frame, *, folded: Sequence[StoredMessage], kept: Sequence[StoredMessage]
) -> Required:
    """Names that pinned sections, pinned messages or open calls need and that the folded messages hold."""
    pinned = [message for message in (*folded, *kept) if message.pinned]
    texts = [*_pinned_sections(session, frame), *map(_words, (*pinned, *open_calls(kept)))]
    wanted = [required_from([text]) for text in texts]
    held = "\n".join(map(_words, folded))
    numbers = set(numbers_in(held))
    return Required(
        paths=_first(name for part in wanted for name in part.paths if name in held),
        identifiers=_first(name for part in wanted for name in part.identifiers if name in held),
        numbers=_first(number for part in wanted for number in part.numbers if number in numbers),
        open_items=_open_items(folded, kept),
    )


def _open_items(folded: Sequence[StoredMessage], kept: Sequence[StoredMessage]) -> tuple[str, ...]:
    """What is open at the end of the session and was said in its folded part."""
    last = folded[-1].seq if folded else 0
    found = [fact.text for fact in facts.open_items([*folded, *kept]) if fact.seq <= last]
    return tuple(found[:MAX_OPEN_ITEMS])


def within_room(required: Required, room_tokens: int, count: Callable[[str], int]) -> Required:
    """As much of it as the room allows: paths first, then identifiers, numbers and open items."""
    left = room_tokens
    kept: dict[str, list[str]] = {"paths": [], "identifiers": [], "numbers": [], "open_items": []}
    for name, found in kept.items():
        for text in sorted(getattr(required, name)) if name != "open_items" else required.open_items:
            tokens = count(text) + 1
            if tokens <= left:
                found.append(text)
                left -= tokens
    sets = {name: frozenset(kept[name]) for name in ("paths", "identifiers", "numbers")}
    return replace(required, open_items=tuple(kept["open_items"]), **sets)


def needed_lines(missing: Sequence[Missing]) -> list[str]:
    """Our own words for what a summary left out: names on one line, every open item on its own."""
    names = [item.text for item in missing if item.kind != "open_item"]
    line = [f"Still needed: {', '.join(names)}"] if names else []
    return line + [f"- {item.text}" for item in missing if item.kind == "open_item"]


def report(text: str, required: Required) -> dict[str, Any]:
    """What was looked for and what was not found, as it is kept with the summary."""
    missing = verify(text, required)
    return {
        "checked": {
            "paths": len(required.paths),
            "numbers": len(required.numbers),
            "identifiers": len(required.identifiers),
            "open_items": len(required.open_items),
        },
        "missing": [{"kind": item.kind, "text": item.text} for item in missing],
    }


def _words(message: StoredMessage) -> str:
    return "\n".join([body_text(message.body), *(f"{call.name} {call.raw}" for call in tool_calls(message))])


def _pinned_sections(session: AgentSession, frame: Frame) -> list[str]:
    verbatim = {section.name for section in frame.policy.sections if section.fill == "verbatim"}
    return [text for name, text in section_texts(session).items() if name in verbatim]


def _first(names: Iterable[str]) -> frozenset[str]:
    return frozenset(sorted(set(names))[:MAX_NAMES])
