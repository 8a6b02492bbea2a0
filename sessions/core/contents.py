"""What each text section has to say before anything is cut, without what stands twice (D2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from budgets.core.policy import SectionPolicy
from sessions.core.blocks import Layout, is_data, is_retrieved, quote_headings
from sessions.core.fills.priority import by_creation, by_rank
from sessions.core.fills.retrieve import written_hit
from sessions.core.fills.text import cut_words
from sessions.core.message import Hit, MemoryItem, body_text
from sessions.core.redundancy import Deduped, dedupe_lines, dedupe_near, is_near_text, lost_twins
from sessions.core.request import AssemblyRequest, Cut

SUMMARY = "conversation_summary"
MEMORY = "memory"
# The newest messages that near-duplicates are looked for in; older ones may be cut themselves.
NEAR_MESSAGES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Texts by section, and the redundant lines that were taken out of the summary."""

    texts: dict[str, str]
    memory: Sequence[MemoryItem]
    hits: Sequence[Hit]
    removed: tuple[str, ...]
    summary_cuts: tuple[Cut, ...]
    hit_cuts: tuple[Cut, ...]

    def whole_text(self, section: SectionPolicy) -> str:
        """Everything the section would show with unlimited room."""
        text = self.texts.get(section.name, "")
        if section.fill == "priority":
            text = _lines([text, *(item.text for item in by_creation(self.memory))])
        elif section.fill == "retrieve":
            text = _lines([text, *map(written_hit, self.hits)])
        return cut_words(text, section.size.amount) if section.size.kind == "words" else text

    def cuts_of(self, section: SectionPolicy) -> tuple[Cut, ...]:
        if section.name == SUMMARY:
            return self.summary_cuts
        return self.hit_cuts if is_retrieved(section) else ()

    def twin_cuts(self, memory_shown: str) -> tuple[Cut, ...]:
        """Lines that were left out of the summary because of memory lines that did not make it either."""
        lost = lost_twins(self.removed, memory_shown)
        return tuple(Cut(reason="duplicate_lost", detail=line, tokens=None) for line in lost)


def gather(request: AssemblyRequest, layout: Layout) -> Contents:
    memory = _lines([request.sections.get(MEMORY, ""), *(item.text for item in by_rank(request.memory))])
    exact = Deduped(text=_summary(request), removed=())
    if request.policy.dedupe.summary_against_memory:
        exact = dedupe_lines(exact.text, memory)
    near, hits = exact, tuple(request.hits)
    if request.policy.dedupe.near_duplicates:
        recent = [body_text(message.body) for message in request.tail[-NEAR_MESSAGES:]]
        near = dedupe_near(exact.text, [memory, *recent])
        hits = _distinct(request.hits, [memory, near.text, *recent])
    names = tuple(section.name for section in layout.texts)
    kept = set(map(id, hits))
    return Contents(
        texts={
            section.name: _text(section, request, memory, near.text, hits, names) for section in layout.texts
        },
        memory=[replace(item, text=quote_headings(item.text, names)) for item in request.memory],
        hits=[replace(hit, text=quote_headings(hit.text, names)) for hit in hits],
        removed=exact.removed,
        summary_cuts=(
            *_line_cuts("duplicate_of_memory", exact.removed),
            *(_line_cuts("near_duplicate", near.removed) if near is not exact else ()),
        ),
        hit_cuts=tuple(
            Cut(reason="near_duplicate", detail=hit.ref, tokens=hit.tokens)
            for hit in request.hits
            if id(hit) not in kept
        ),
    )


def _text(
    section: SectionPolicy,
    request: AssemblyRequest,
    memory: str,
    summary: str,
    hits: Sequence[Hit],
    names: tuple[str, ...],
) -> str:
    text = request.sections.get(section.name, "")
    if section.name == SUMMARY:
        text = summary
    elif section.name == MEMORY and section.fill != "priority":
        text = memory
    elif is_retrieved(section) and section.fill != "retrieve":
        text = _lines([text, *map(written_hit, hits)])
    return quote_headings(text, names) if is_data(section) else text


def _summary(request: AssemblyRequest) -> str:
    ordered = sorted(request.summaries, key=lambda summary: summary.from_seq)
    return "\n\n".join(
        filter(None, [request.sections.get(SUMMARY, ""), *(summary.text for summary in ordered)])
    )


def _distinct(hits: Sequence[Hit], others: Sequence[str]) -> tuple[Hit, ...]:
    """Hits by score, without those that nearly stand elsewhere or in a better hit."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.ref)):
        if not is_near_text(hit.text, [*others, *(known.text for known in kept)]):
            kept.append(hit)
    return tuple(kept)


def _line_cuts(reason: str, lines: Iterable[str]) -> tuple[Cut, ...]:
    return tuple(Cut(reason=reason, detail=line, tokens=None) for line in lines)


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(filter(None, texts))
