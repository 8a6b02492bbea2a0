"""What an assembly can refuse.

AssemblyError
├── NoRoom             what must be kept does not fit into the room that is left; caught inside the assembly
└── ContextTooLarge    context_too_large   nothing that may be cut is left, and the input is still too large
"""

from collections.abc import Sequence
from typing import Any

_REMEDIES = (
    "Compact the session, so that older messages become a summary.",
    "Shorten the sections that must stay whole (see `sections`), or let them be truncated.",
    "Unpin messages or memory entries that need not stay verbatim.",
    "Lower the output reserve, choose another mode or a model with a larger window: no one else switches it.",
)


class AssemblyError(ValueError):
    code = "assembly"


class NoRoom(AssemblyError):
    """`needed` is what the part needs at least, `room` what there was."""

    def __init__(self, *, section: str, needed: int, room: int) -> None:
        super().__init__(f"{section} needs {needed:,} tokens, {room:,} are left")
        self.section = section
        self.needed = needed
        self.room = room


class ContextTooLarge(AssemblyError):
    """The sentence of W6, with the numbers of every section and what to do about it."""

    code = "context_too_large"

    def __init__(
        self, *, model: str, used: int, max_input: int, safe: int, sections: Sequence[dict[str, Any]] = ()
    ) -> None:
        share = max_input * 100 // safe if safe else 0
        self.detail = (
            f"Context too large for model {model}: input uses {used:,} tokens, "
            f"max allowed is {max_input:,} tokens ({share}% of {safe:,})"
        )
        super().__init__(self.detail)
        self.model = model
        self.used = used
        self.max_input = max_input
        self.safe = safe
        self.sections = tuple(sections)
        self.remedies = _REMEDIES
