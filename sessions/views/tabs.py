"""What each tab of a session's page shows; only the open one is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sessions.core.message import body_text
from sessions.core.reading import tool_calls
from sessions.core.scratch import detail_documents, render_scratch
from sessions.models import AgentSession, Assembly, MemoryEntry, Message, Summary
from sessions.services.budget_view import budget_summary
from sessions.services.checkpoints import checkpoint_content
from sessions.services.frames import Frame
from sessions.services.scratch import dead_ends, read_scratch
from sessions.services.store import from_bytes, stored_message
from sessions.views.composition import compose, compose_report
from sessions.views.masking import masked
from sessions.views.timeline import read_timeline

PAGE = 50
MAX_INPUTS = 200
MESSAGES = 25
MAX_SHOWN_CHARACTERS = 6_000
LARGEST = 12

Context = dict[str, Any]
Query = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMessage:
    """A message as text; markup in it is shown, never run."""

    row: Message
    text: str
    tokens: int | None
    state: str
    raw: str
    is_cut: bool
    calls: tuple[str, ...]


def tab_context(tab: str, session: AgentSession, frame: Frame, query: Query) -> Context:
    return _READERS[tab](session, frame, query)


def _composition(session: AgentSession, frame: Frame, query: Query) -> Context:
    newest = session.assemblies_made
    number = whole_number(query.get("at"))
    stored = (
        Assembly.objects.filter(session=session, number=number).select_related("revision").first()
        if number
        else None
    )
    source = budget_summary(session, frame)["source"]
    section = str(query.get("section", ""))
    return {
        "composition": compose_report(stored.report) if stored else compose(session, frame, source=source),
        "assembly": stored,
        "assemblies": newest,
        "earlier": (stored.number - 1 if stored else newest) or None,
        "later": stored.number + 1 if stored and stored.number < newest else None,
        "section": section,
        "largest": _largest(session, frame, section) if section and not stored else None,
    }


def _largest(session: AgentSession, frame: Frame, section: str) -> list[dict[str, Any]]:
    """The heaviest things in a section, so that a person knows what to shorten."""
    if section == "memory":
        rows = MemoryEntry.objects.filter(session=session, superseded_at=None)[:500]
        items = [(row.counts.get(frame.counter.name, 0), row.kind, str(from_bytes(row.body))) for row in rows]
    elif section == "conversation_summary":
        items = [
            (
                row.counts.get(frame.counter.name, 0),
                f"messages {row.from_seq}–{row.to_seq}",
                from_bytes(row.body),
            )
            for row in _live_summaries(session)
        ]
    elif section == _tail_section(frame):
        return _largest_messages(session, frame)
    else:
        texts = session.section_contents.filter(name=section)
        items = [(row.tokens, "text", str(from_bytes(row.body))) for row in texts]
    items.sort(key=lambda item: -item[0])
    return [
        {"tokens": t, "what": w, "text": masked(text)[:400], "seq": None} for t, w, text in items[:LARGEST]
    ]


def _largest_messages(session: AgentSession, frame: Frame) -> list[dict[str, Any]]:
    live = Message.objects.filter(session=session, seq__gt=session.base_seq).order_by("-seq")[:1000]
    weights = [(row.counts.get(frame.counter.name, 0), row) for row in live.defer("body")]
    weights.sort(key=lambda pair: -pair[0])
    heaviest = weights[:LARGEST]
    bodies = dict(
        Message.objects.filter(session=session, seq__in=[row.seq for _, row in heaviest]).values_list(
            "seq", "body"
        )
    )
    return [
        {
            "tokens": t,
            "what": row.role,
            "seq": row.seq,
            "text": masked(body_text(from_bytes(bodies[row.seq])))[:400],
        }
        for t, row in heaviest
    ]


def _tail_section(frame: Frame) -> str:
    tails = ("sticky_tail", "newest_first", "head_middle_tail")
    return next((s.name for s in frame.policy.sections if s.fill in tails), "recent_messages")


def _live_summaries(session: AgentSession) -> list[Summary]:
    items = session.manifest.items if session.manifest else []
    return list(Summary.objects.filter(pk__in=[item["summary"] for item in items if "summary" in item]))


def _timeline(session: AgentSession, frame: Frame, query: Query) -> Context:
    return {"timeline": read_timeline(session, frame)}


def _messages(session: AgentSession, frame: Frame, query: Query) -> Context:
    rows = Message.objects.filter(session=session).order_by("-seq")
    before, at = whole_number(query.get("before")), whole_number(query.get("seq"))
    role = str(query.get("role", ""))
    if role:
        rows = rows.filter(role=role)
    if at:
        rows = rows.filter(seq__lte=at)
    if before:
        rows = rows.filter(seq__lt=before)
    page = list(rows[: MESSAGES + 1])
    shown = [shown_message(row, session, frame) for row in page[:MESSAGES]]
    words = str(query.get("q", "")).casefold()
    found = [message for message in shown if words in message.text.casefold()] if words else shown
    return {
        "shown_messages": found,
        "older": page[MESSAGES - 1].seq if len(page) > MESSAGES else None,
        "at_seq": at,
        "role": role,
        "words": str(query.get("q", "")),
        "roles": ("user", "assistant", "tool", "system"),
    }


def shown_message(row: Message, session: AgentSession, frame: Frame) -> ShownMessage:
    body = from_bytes(row.body)
    text = body_text(body)
    raw = json.dumps(body, ensure_ascii=False, indent=2)
    return ShownMessage(
        row=row,
        text=_printable(masked(text)[:MAX_SHOWN_CHARACTERS]),
        tokens=row.counts.get(frame.counter.name),
        state=message_state(row.seq, session),
        raw=_printable(masked(raw)[: 4 * MAX_SHOWN_CHARACTERS]),
        is_cut=len(text) > MAX_SHOWN_CHARACTERS,
        calls=tuple(
            masked(f"{call.name} {call.raw}")[:2_000] for call in tool_calls(stored_message(row, frame))
        ),
    )


def message_state(seq: int, session: AgentSession) -> str:
    if any(first <= seq <= last for first, last in session.hidden):
        return "hidden by a restore"
    if seq <= session.base_seq:
        return "summarised"
    return "in window" if seq > session.cut_seq else "dropped, not summarised"


def _printable(text: str) -> str:
    """Lone surrogates cannot be sent to a browser."""
    return text.encode("utf-8", "replace").decode()


def _checkpoints(session: AgentSession, frame: Frame, query: Query) -> Context:
    rows = list(session.checkpoints.order_by("-number").defer("content")[:200])
    chosen = whole_number(query.get("checkpoint"))
    shown = session.checkpoints.filter(number=chosen).first() if chosen else None
    return {
        "checkpoints": rows,
        "chosen": shown,
        "content": checkpoint_content(shown) if shown else None,
        "from": whole_number(query.get("from")) or (rows[1].number if len(rows) > 1 else None),
        "to": whole_number(query.get("to")) or (rows[0].number if rows else None),
    }


def _turns(session: AgentSession, frame: Frame, query: Query) -> Context:
    rows = session.turn_rows.order_by("-number")
    before = whole_number(query.get("before"))
    if before:
        rows = rows.filter(number__lt=before)
    page = list(rows[: PAGE + 1])
    return {"turn_rows": page[:PAGE], "older": page[PAGE - 1].number if len(page) > PAGE else None}


def _scratch(session: AgentSession, frame: Frame, query: Query) -> Context:
    written = read_scratch(session, texts=MAX_INPUTS)
    inputs = tuple(replace(said, text=said.text and masked(said.text)) for said in written.human_inputs)
    notebook = replace(written, human_inputs=inputs)
    newest = replace(notebook, human_inputs=tuple(said for said in inputs if said.text))
    return {
        "older_inputs": len(inputs) - len(newest.human_inputs),
        "scratch_index": _printable(render_scratch(notebook)),
        "documents": {name: _printable(text) for name, text in detail_documents(newest).items()},
        "dead_ends": dead_ends(session),
        "memory": [
            {"row": row, "text": _printable(str(from_bytes(row.body)))}
            for row in MemoryEntry.objects.filter(session=session, superseded_at=None).order_by(
                "-pinned", "-priority", "-seq", "-id"
            )[:PAGE]
        ],
    }


def _signals(session: AgentSession, frame: Frame, query: Query) -> Context:
    rows = session.signals.order_by("-number")
    before = whole_number(query.get("before"))
    if before:
        rows = rows.filter(number__lt=before)
    page = list(rows[: PAGE + 1])
    return {"signals": page[:PAGE], "older": page[PAGE - 1].number if len(page) > PAGE else None}


def whole_number(text: Any) -> int | None:
    given = str(text or "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 16 else None


_READERS: dict[str, Callable[[AgentSession, Frame, Query], Context]] = {
    "composition": _composition,
    "timeline": _timeline,
    "messages": _messages,
    "checkpoints": _checkpoints,
    "turns": _turns,
    "scratch": _scratch,
    "signals": _signals,
}
TABS = tuple(_READERS)
