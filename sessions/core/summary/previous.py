"""Reads an earlier summary back, so that the next one folds it in instead of quoting it whole."""

from collections.abc import Mapping
from dataclasses import dataclass

from sessions.core.summary.units import sentences

REQUESTS, FILES, NAMES = "Requests", "Files", "Names"
DECISIONS, ERRORS, OPEN, NOTES = "Decisions", "Errors", "Open", "Notes"
SECTIONS = (REQUESTS, FILES, NAMES, DECISIONS, ERRORS, OPEN, NOTES)
# Paths may contain spaces, names cannot.
SEPARATORS = {FILES: ", ", NAMES: " "}


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierSummary:
    sections: Mapping[str, tuple[str, ...]]

    def lines(self, section: str) -> tuple[str, ...]:
        return self.sections.get(section, ())

    def names(self, section: str) -> tuple[str, ...]:
        return tuple(name for line in self.lines(section) for name in line.split(SEPARATORS[section]) if name)


def read_summary(text: str) -> EarlierSummary:
    """Our own layout section by section; anybody else's text becomes notes."""
    found: dict[str, list[str]] = {}
    section = NOTES
    for line in text.splitlines():
        if line.startswith("## ") and line[3:].strip() in SECTIONS:
            section = line[3:].strip()
        elif line.strip() and not _is_frame(line):
            found.setdefault(section, []).append(line.strip())
    if len(found) == 1 and NOTES in found:
        found[NOTES] = sentences("\n".join(found[NOTES]))
    return EarlierSummary(sections={name: tuple(lines) for name, lines in found.items()})


def _is_frame(line: str) -> bool:
    """The first line and the range markers of a summary: rewritten each time, never carried over."""
    return line.startswith("Summary of messages ") or (line.startswith("[#") and line.endswith("]"))
