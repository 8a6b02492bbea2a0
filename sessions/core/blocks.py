"""How sections are written: headings, the system text, and context blocks as data in user messages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from budgets.core.policy import Policy, SectionPolicy, Size
from sessions.core.message import StoredMessage
from sessions.core.request import Ruler

SEPARATOR = "\n\n"
OPENING = "[The conversation starts here.]"
HISTORY_FILLS = frozenset({"sticky_tail", "newest_first", "head_middle_tail"})
# Sections whose content was said by others before: always data, never part of the system text.
DATA_SECTIONS = frozenset({"memory", "conversation_summary", "retrieved_context"})
_DATA_FILLS = frozenset({"priority", "retrieve"})
_HEADINGS = {
    "system_prompt": "",
    "memory": "[Persistent Memory]",
    "conversation_summary": "## Conversation Summary",
}
_DEFAULT_HISTORY = SectionPolicy(
    name="recent_messages", size=Size(kind="rest"), fill="sticky_tail", borrows=True, volatility=1000
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The sections in the order of the output, each list by volatility."""

    system: tuple[SectionPolicy, ...]
    opening: tuple[SectionPolicy, ...]
    history: SectionPolicy
    trailing: tuple[SectionPolicy, ...]

    @property
    def texts(self) -> tuple[SectionPolicy, ...]:
        return (*self.system, *self.opening, *self.trailing)


def lay_out(policy: Policy) -> Layout:
    """The system text is the leading run of instructions; what follows the first data section is context."""
    ordered = sorted(policy.sections, key=lambda section: section.volatility)
    history = next((section for section in ordered if section.fill in HISTORY_FILLS), _DEFAULT_HISTORY)
    texts = [section for section in ordered if section.fill not in HISTORY_FILLS]
    before = [s for s in texts if s.volatility <= history.volatility and not is_retrieved(s)]
    first_data = next((i for i, section in enumerate(before) if is_data(section)), len(before))
    return Layout(
        system=tuple(before[:first_data]),
        opening=tuple(before[first_data:]),
        history=history,
        trailing=tuple(section for section in texts if section not in before),
    )


def is_data(section: SectionPolicy) -> bool:
    return section.name in DATA_SECTIONS or section.fill in _DATA_FILLS


def is_retrieved(section: SectionPolicy) -> bool:
    """What depends on the query would break the cached prefix, so it never stands before the history."""
    return section.fill == "retrieve" or section.name == "retrieved_context"


def heading_of(name: str) -> str:
    return _HEADINGS.get(name, "## " + name.replace("_", " ").title())


def block(name: str, text: str) -> str:
    """A blank text makes no block (D5)."""
    if not text.strip():
        return ""
    heading = heading_of(name)
    return f"{heading}\n{text}" if heading else text


def quote_headings(text: str, names: tuple[str, ...]) -> str:
    """Quotes lines of data that look like a heading of ours: no content can open a block of its own."""
    return _forged(names).sub("> ", text)


@lru_cache(maxsize=64)
def _forged(names: tuple[str, ...]) -> re.Pattern[str]:
    headings = "|".join(re.escape(heading) for heading in (*filter(None, map(heading_of, names)), OPENING))
    return re.compile(rf"^(?=[ \t]*(?:{headings}))", re.MULTILINE | re.IGNORECASE)


def join(blocks: Iterable[str]) -> str:
    return SEPARATOR.join(filter(None, blocks))


def made_block(text: str, ruler: Ruler) -> StoredMessage:
    """A message that no one stored: data for the model, in the role of the user."""
    body = {"role": "user", "content": text}
    return StoredMessage(seq=0, role="user", tokens=ruler.block_tokens("user", text), words=0, body=body)


def block_texts(sections: Sequence[SectionPolicy], texts: dict[str, str]) -> str:
    return join(block(section.name, texts.get(section.name, "")) for section in sections)
