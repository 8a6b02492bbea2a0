"""One module per fill strategy; these tables are the only place that knows them all."""

from collections.abc import Callable, Mapping

from sessions.core.fills.head_middle_tail import fill_head_middle_tail
from sessions.core.fills.history import HistoryAsk, HistoryFill
from sessions.core.fills.newest_first import fill_newest_first
from sessions.core.fills.priority import fill_priority
from sessions.core.fills.retrieve import fill_retrieve
from sessions.core.fills.sticky_tail import fill_sticky_tail
from sessions.core.fills.text import Filled, TextAsk
from sessions.core.fills.truncate import fill_truncate
from sessions.core.fills.verbatim import fill_verbatim

__all__ = ["HISTORY_FILLS", "TEXT_FILLS", "Filled", "HistoryAsk", "HistoryFill", "TextAsk"]

TEXT_FILLS: Mapping[str, Callable[[TextAsk], Filled]] = {
    "verbatim": fill_verbatim,
    "truncate": fill_truncate,
    "priority": fill_priority,
    "retrieve": fill_retrieve,
    "reserve": fill_truncate,
}
HISTORY_FILLS: Mapping[str, Callable[[HistoryAsk], HistoryFill]] = {
    "sticky_tail": fill_sticky_tail,
    "newest_first": fill_newest_first,
    "head_middle_tail": fill_head_middle_tail,
}
