"""Puts a summary together inside an exact token budget: sections by their shares, the rest is notes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sessions.core.message import StoredMessage
from sessions.core.summary import facts
from sessions.core.summary import previous as layout
from sessions.core.summary.ledger import build_ledger
from sessions.core.summary.previous import EarlierSummary, read_summary
from sessions.core.summary.units import Count, Unit, by_salience, message_pieces, sentence_pieces, units_of

FULL_BP = 10_000
# Shares of the budget while an agent works with tools; what one leaves goes to the names, then to the notes.
# A conversation without tools is all notes.
_SHARES_BP = {
    layout.REQUESTS: 1_500,
    layout.OPEN: 600,
    layout.ERRORS: 900,
    layout.DECISIONS: 700,
    layout.NOTES: 2_000,
    layout.FILES: 3_000,
    layout.NAMES: FULL_BP,
}
# A range marker before every so many notes leads back to the originals at little cost.
_NOTES_PER_MARKER = 12
_MARKER_TOKENS = 6
# Lines are counted one by one, which counts too much: what turns out to be left is filled again.
_FILLINGS = 3
_BULLET = "- "


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """Entries of one section, the most important first; with a separator they share a line."""

    name: str
    entries: tuple[str, ...]
    separator: str = ""


def summarise(
    messages: Sequence[StoredMessage], previous_summary: str | None, budget_tokens: int, count: Count
) -> str:
    """A deterministic summary of at most `budget_tokens` by the given counter."""
    earlier = read_summary(previous_summary or "")
    header = [_header(messages)] if messages else []
    sections = _work_sections(messages, earlier)
    notes = by_salience(_note_units(messages, earlier, is_work=bool(sections), count=count))
    text = ""
    room = budget_tokens - _tokens(header, count)
    for _ in range(_FILLINGS):
        lines = [*header, *_body(sections, notes, room, count)]
        filled = "\n".join(lines)
        used = count(filled)
        if used > budget_tokens:
            return text or within_budget(lines, budget_tokens, count)
        text = filled
        room += budget_tokens - used
    return text


def _body(sections: Sequence[_Section], notes: Sequence[Unit], room_tokens: int, count: Count) -> list[str]:
    """Filled by share in the order of the shares, shown in the order of the layout."""
    if not sections:
        return _note_lines(notes, room_tokens, count)
    by_name = {section.name: section for section in sections}
    written: dict[str, list[str]] = {}
    left = room_tokens
    for name, share_bp in _SHARES_BP.items():
        room = min(left, room_tokens * share_bp // FULL_BP)
        if name in by_name:
            written[name] = _section_lines(by_name[name], room, count)
        else:
            written[name] = _note_lines(notes, room, count)
        left -= _tokens(written[name], count)
    if left > 0:
        used = _tokens(written[layout.NOTES], count)
        written[layout.NOTES] = _note_lines(notes, used + left, count)
    return [line for name in layout.SECTIONS for line in written[name]]


def key_events(messages: Sequence[StoredMessage], budget_tokens: int, count: Count) -> str:
    """One line for each of the turns that say most, in the order in which they happened."""
    best: dict[int, Unit] = {}
    pieces = [(seq, _BULLET + text) for seq, text in sentence_pieces(messages)]
    for unit in by_salience(units_of(pieces, count)):
        best.setdefault(unit.seq, unit)
    return within_budget([unit.text for unit in _chosen(best.values(), budget_tokens)], budget_tokens, count)


def within_budget(lines: Sequence[str], budget_tokens: int, count: Count) -> str:
    """Whole lines from the end go first, then characters: whatever the counter says, the budget holds."""
    kept = list(lines)
    while len(kept) > 1 and count("\n".join(kept)) > budget_tokens:
        kept.pop()
    text = "\n".join(kept)
    while text and count(text) > budget_tokens:
        text = text[: len(text) * 9 // 10]
    return text.rstrip()


def _header(messages: Sequence[StoredMessage]) -> str:
    return f"Summary of messages {messages[0].seq}–{messages[-1].seq}; > marks the user's words."


def _work_sections(messages: Sequence[StoredMessage], earlier: EarlierSummary) -> list[_Section]:
    if not any(m.call_ids for m in messages) and not earlier.lines(layout.FILES):
        return []
    ledger = build_ledger(messages)
    files = _merged(ledger.paths, earlier.names(layout.FILES))
    names = _merged(ledger.identifiers, earlier.names(layout.NAMES))
    return [
        _facts_section(layout.REQUESTS, facts.requests(messages), earlier),
        _Section(name=layout.FILES, entries=files, separator=layout.SEPARATORS[layout.FILES]),
        _Section(name=layout.NAMES, entries=names, separator=layout.SEPARATORS[layout.NAMES]),
        _facts_section(layout.OPEN, facts.open_items(messages), None),
        _facts_section(layout.ERRORS, facts.errors(messages), earlier),
        _facts_section(layout.DECISIONS, facts.decisions(messages), earlier),
    ]


def _facts_section(name: str, found: Sequence[facts.Fact], earlier: EarlierSummary | None) -> _Section:
    """Newest first; what is open is said anew each time, the rest goes on from the earlier summary."""
    before = earlier.lines(name) if earlier else ()
    return _Section(name=name, entries=_merged((fact.line() for fact in reversed(found)), reversed(before)))


def _merged(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *second]))


def _section_lines(section: _Section, room_tokens: int, count: Count) -> list[str]:
    heading = f"## {section.name}"
    left = room_tokens - count(heading) - 1
    kept: list[str] = []
    for entry in section.entries:
        tokens = count(entry) + 1
        if tokens <= left:
            kept.append(entry)
            left -= tokens
    if not kept:
        return []
    return [heading, section.separator.join(kept)] if section.separator else [heading, *reversed(kept)]


def _note_units(
    messages: Sequence[StoredMessage], earlier: EarlierSummary, *, is_work: bool, count: Count
) -> list[Unit]:
    """Earlier notes and what was said; where work is done, people's words stand among the requests."""
    carried = [(0, line) for line in earlier.lines(layout.NOTES)]
    spoken = [m for m in messages if not (is_work and m.is_human)]
    return units_of([*carried, *message_pieces(spoken)], count)


def _note_lines(ordered: Sequence[Unit], room_tokens: int, count: Count) -> list[str]:
    heading = f"## {layout.NOTES}"
    chosen = _chosen(ordered, room_tokens - count(heading) - 1)
    return [heading, *_marked(chosen)] if chosen else []


def _marked(units: Sequence[Unit]) -> Iterator[str]:
    for start in range(0, len(units), _NOTES_PER_MARKER):
        run = units[start : start + _NOTES_PER_MARKER]
        if run[-1].seq:
            yield f"[#{run[0].seq or 1}–{run[-1].seq}]"
        yield from (unit.text for unit in run)


def _chosen(ordered: Iterable[Unit], room_tokens: int) -> list[Unit]:
    """The best units that fit, back in the order of the conversation."""
    left = room_tokens
    chosen: list[Unit] = []
    for unit in ordered:
        marker = 0 if len(chosen) % _NOTES_PER_MARKER else _MARKER_TOKENS
        if unit.tokens + marker <= left:
            chosen.append(unit)
            left -= unit.tokens + marker
    return sorted(chosen, key=lambda unit: unit.order)


def _tokens(lines: Iterable[str], count: Count) -> int:
    return sum(count(line) + 1 for line in lines)
