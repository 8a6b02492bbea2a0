"""Checks a summary before it may be committed: what had to survive, and whether it is one at all."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sessions.core.summary.ledger import identifiers_in, paths_in
from sessions.core.terms import word_terms

# An open item survives when this many of ten of its terms do: a summary may reword it.
_TERMS_OF_TEN = 6
# Apologies and error pages are short; a long text that mentions an error is a summary of one.
_ERROR_TEXT_CHARACTERS = 600

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?%?(?![\w])")
_ERROR_TEXT = re.compile(
    r"\s*(?:<!doctype|<html|\{\s*\"?(?:error|detail|message|type)\b|(?:api )?error\b|traceback|exception"
    r"|(?:internal server|bad gateway|service unavailable|gateway time-?out|too many requests|rate limit)"
    r"|[45]\d\d\b|i(?:'|’)?m sorry|i am sorry|sorry,|i can(?:'|’)?t|i cannot|as an ai\b"
    r"|unable to (?:summari|process))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Required:
    """What must be found again in a summary."""

    paths: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    identifiers: frozenset[str] = frozenset()
    open_items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    kind: str
    text: str


def required_from(texts: Iterable[str], *, open_items: Iterable[str] = ()) -> Required:
    """What pinned content and open calls name; the caller chooses the texts."""
    joined = "\n".join(texts)
    return Required(
        paths=frozenset(paths_in(joined)),
        numbers=frozenset(numbers_in(joined)),
        identifiers=frozenset(identifiers_in(joined)),
        open_items=tuple(open_items),
    )


def verify(summary: str, required: Required) -> list[Missing]:
    """Everything that did not survive, in a stable order; an empty list is a pass."""
    numbers = set(numbers_in(summary))
    terms = set(word_terms(summary))
    missing = [Missing(kind="path", text=path) for path in sorted(required.paths) if path not in summary]
    missing += [Missing(kind="number", text=n) for n in sorted(required.numbers) if n not in numbers]
    missing += [
        Missing(kind="identifier", text=name) for name in sorted(required.identifiers) if name not in summary
    ]
    missing += [
        Missing(kind="open_item", text=item) for item in required.open_items if not _survives(item, terms)
    ]
    return missing


def is_worth_showing(missing: Missing) -> bool:
    """A bare number of one or two digits counts lines or tests more often than it says anything."""
    return missing.kind != "number" or len(missing.text) > 2


def looks_like_error_text(summary: str) -> bool:
    """An empty answer, an apology or an error page instead of a summary."""
    text = summary.strip()
    return not text or (len(text) <= _ERROR_TEXT_CHARACTERS and _ERROR_TEXT.match(text) is not None)


def numbers_in(text: str) -> list[str]:
    """Numbers without thousands separators, so that 1,200 and 1200 are the same."""
    return [found.replace(",", "") for found in _NUMBER.findall(text)]


def _survives(item: str, terms: set[str]) -> bool:
    wanted = set(word_terms(item))
    return len(wanted & terms) * 10 >= len(wanted) * _TERMS_OF_TEN
