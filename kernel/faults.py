"""Named points at which tests may kill, raise or freeze; without effect in production."""

from __future__ import annotations

from collections.abc import Callable

# Every point that exists, so that a test can insist on a case for each.
FAULT_POINTS: frozenset[str] = frozenset(
    {
        "job.claimed",
        "job.done.before",
        "compact.planned",
        "compact.summarised.before",
        "compact.staged",
        "compact.commit.before",
        "compact.commit.summary",
        "compact.commit.manifest",
        "compact.commit.after",
        "events.commit.before",
        "hold.commit.before",
        "settle.commit.before",
    }
)

_hook: Callable[[str], None] | None = None


def fault(point: str) -> None:
    """Marks a moment at which a crash must leave the data fully before or fully after."""
    if _hook is not None:
        _hook(point)


def set_fault_hook(hook: Callable[[str], None] | None) -> None:
    global _hook
    _hook = hook
