"""What an assembly is asked for and what it answers: values only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from budgets.core.policy import Policy
from budgets.core.window import WindowBudget
from sessions.core.message import Body, Hit, MemoryItem, StoredMessage, SummaryItem

# One piece of an assembled prefix: its tokens, and either a range of untouched messages ("12-48") or a hash.
PrefixPiece = tuple[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """How text is measured and cut; `high` is the upper estimate of a count."""

    count: Callable[[str], int]
    cut: Callable[[str, int], str]
    count_message: Callable[[Body], int]
    high: Callable[[int], int] | None = None

    def block_tokens(self, role: str, text: str) -> int:
        """A message of plain text: its frame and its text, which count_message adds up."""
        return self.count_message({"role": role, "content": ""}) + self.count(text)

    def remembering(self) -> "Ruler":
        """The same, counting each text once: a section is measured when it asks, is filled and is written."""
        return replace(self, count=lru_cache(maxsize=None)(self.count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchors:
    """Messages that are always sent, wherever they stand; a pinned tool message comes with its group."""

    system: tuple[StoredMessage, ...] = ()
    first_user: StoredMessage | None = None
    latest_user: StoredMessage | None = None
    pinned: tuple[StoredMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyRequest:
    """`tail` ascends and ends with the newest message; it needs to hold no more than could fit.

    Messages up to `base_seq` are covered by summaries; those up to `cut_seq` were left out last time.
    `one_off` says that this call's budget is its own: what the query asks for, or a summary of what is left
    out, goes before all but a few of the newest messages, since there is no cached prefix to keep.
    `head` and `middle` serve head_middle_tail when the tail does not hold the whole live view.
    """

    policy: Policy
    window: WindowBudget
    model: str
    ruler: Ruler
    sections: Mapping[str, str] = field(default_factory=dict)
    memory: Sequence[MemoryItem] = ()
    summaries: Sequence[SummaryItem] = ()
    hits: Sequence[Hit] = ()
    tail: Sequence[StoredMessage] = ()
    head: Sequence[StoredMessage] = ()
    middle: Sequence[StoredMessage] = ()
    anchors: Anchors = Anchors()
    base_seq: int = 0
    cut_seq: int = 0
    head_seq: int = 0
    live_tokens: int | None = None
    query: str = ""
    interventions: str = ""
    previous_prefix: Sequence[PrefixPiece] = ()
    sticky: bool = True
    one_off: bool = False
    overhead_tokens: int = 0
    source: str = "counted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPlan:
    """What to send. `seqs` names the source of each message, 0 for a block that the assembly made."""

    system: str
    messages: tuple[Body, ...]
    seqs: tuple[int, ...]
    tokens: int
    cut_seq: int
    report: dict[str, Any]
    prefix: tuple[PrefixPiece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Something that was left out or shortened, and why; tokens are None where nobody counted them."""

    reason: str
    detail: str
    tokens: int | None
    seq: int | None = None

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"reason": self.reason, "detail": self.detail, "tokens": self.tokens}
        return shown if self.seq is None else {**shown, "seq": self.seq}
