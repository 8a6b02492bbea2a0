"""What an assembly can refuse.

AssemblyError
├── NoRoom             what must be kept does not fit into the room that is left; caught inside the assembly
└── ContextTooLarge    context_too_large   nothing that may be cut is left, and the input is still too large
"""

from collections.abc import Sequence
from typing import Any

from budgets.core.messages import context_too_large, too_large_remedies


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
        self.detail = context_too_large(model=model, used=used, max_input=max_input, safe=safe)
        super().__init__(self.detail)
        self.model = model
        self.used = used
        self.max_input = max_input
        self.safe = safe
        self.sections = tuple(sections)
        self.remedies = tuple(too_large_remedies(used=used, max_input=max_input))
