"""The report of an assembly: what each section got, what was cut and why, and the window's figures (W7)."""

from collections.abc import Sequence
from typing import Any

from sessions.core.blocks import Layout
from sessions.core.composition import Composed
from sessions.core.contents import SUMMARY, Contents
from sessions.core.fills import HistoryFill
from sessions.core.frame import Frame, twin_lines
from sessions.core.message import StoredMessage
from sessions.core.proof import section_row
from sessions.core.request import AssemblyRequest, Cut


def build_report(
    request: AssemblyRequest,
    layout: Layout,
    contents: Contents,
    frame: Frame,
    history: HistoryFill,
    composed: Composed,
) -> dict[str, Any]:
    sent = [message for message in composed.messages if message.seq]
    carried = sum(1 for message in sent if message.seq <= request.base_seq)
    offered = max(request.head_seq - request.base_seq, 0) + carried
    dropped = offered - len(sent)
    tokens = composed.tokens + request.overhead_tokens
    return {
        "max_input": request.window.max_input,
        "tokens": tokens,
        "tokens_high": request.ruler.high(tokens) if request.ruler.high else tokens,
        "source": request.source,
        "sections": [
            *(_text_row(name, layout, contents, frame) for name in frame.filled),
            _history_row(request, layout, frame, history, sent, dropped),
        ],
        "turns_kept": len(sent),
        "turns_offered": offered,
        "dropped_unsummarised": dropped,
        "repaired": [{"kind": r.kind, "call_id": r.call_id, "seq": r.seq} for r in composed.repaired.repairs],
        "budget": _budget(request, layout, frame, history),
    }


def loaded_tokens(request: AssemblyRequest) -> int:
    """What the messages would take, counted no further than the window could hold."""
    wanted = 0
    for message in reversed(request.tail):
        wanted += message.tokens
        if wanted >= request.window.max_input:
            break
    return wanted


def _text_row(name: str, layout: Layout, contents: Contents, frame: Frame) -> dict[str, Any]:
    section = next(section for section in layout.texts if section.name == name)
    part = frame.filled[name]
    cuts = (*contents.cuts_of(section), *part.cuts)
    if name == SUMMARY:
        cuts = (*cuts, *contents.twin_cuts(twin_lines(frame)))
    return section_row(
        name,
        planned=frame.planned[name],
        used=part.tokens,
        kept=part.kept,
        dropped=part.dropped,
        cuts=[cut.as_dict() for cut in cuts],
    )


def _history_row(
    request: AssemblyRequest,
    layout: Layout,
    frame: Frame,
    history: HistoryFill,
    sent: Sequence[StoredMessage],
    dropped: int,
) -> dict[str, Any]:
    used = sum(message.tokens for message in sent)
    cuts = list(history.cuts)
    if dropped:
        lost = None
        if request.live_tokens is not None:
            lost = max(request.live_tokens - used - sum(cut.tokens or 0 for cut in history.cuts), 0)
        cuts.append(Cut(reason="left_out", detail=f"{dropped:,} messages that do not fit", tokens=lost))
    return section_row(
        layout.history.name,
        planned=frame.planned.get(layout.history.name, 0),
        used=used,
        kept=len(sent),
        dropped=dropped,
        cuts=[cut.as_dict() for cut in cuts],
    )


def _budget(request: AssemblyRequest, layout: Layout, frame: Frame, history: HistoryFill) -> dict[str, Any]:
    window, scaffold = request.window, frame.tokens + frame.held
    room = max(window.max_input - scaffold, 0)
    actual = request.live_tokens if request.live_tokens is not None else loaded_tokens(request)
    return {
        "window": window.context_window,
        "safe": window.safe,
        "output_reserve": window.output_reserve,
        "mode": window.mode,
        "max_input": window.max_input,
        "scaffold": {"raw": frame.tokens, "reserves": frame.held, "total": scaffold},
        "story_budget": room,
        "actual": actual,
        "over": actual > room,
        **history.figures,
    }
