"""The errors of reading and calling vendors.

Invalid (422)
├── EventInvalid       a known event with a wrong field
├── UsageInvalid       a token count that is not a whole number of tokens
└── FormatUnknown      no adapter of that name
Exception
└── SummariserFailed   a summariser gave no usable summary; the caller falls back
"""

from __future__ import annotations

from budgets.core.usage import TokenUsage
from kernel.errors import FieldProblem, Invalid


class EventInvalid(Invalid):
    """A field of a known event is wrong; `pointer` says which."""

    code = "invalid_event"

    def __init__(self, pointer: str, detail: str, *, code: str | None = None) -> None:
        super().__init__(detail, code=code, errors=(FieldProblem(pointer=pointer, detail=detail),))
        self.pointer = pointer


class UsageInvalid(EventInvalid):
    """A reported counter that must never reach a ledger."""

    code = "invalid_usage"


class FormatUnknown(EventInvalid):
    """The events' format has no adapter."""

    code = "unknown_format"


class SummariserFailed(Exception):
    """No usable summary: `reason` is stable, `detail` is for people, `usage` is what it cost all the same."""

    code = "summariser_failed"

    def __init__(self, reason: str, detail: str = "", *, usage: TokenUsage | None = None) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.usage = usage
