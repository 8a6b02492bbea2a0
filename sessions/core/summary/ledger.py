"""The ledger of names that work still needs: paths and identifiers, those used lately before the others."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sessions.core.message import StoredMessage
from sessions.core.reading import text_of, tool_calls

# A name loses half of its weight in this many messages: what the next calls need was mostly used just now.
_HALF_LIFE_MESSAGES = 24
# Long outputs repeat themselves; their first part names what they are about.
_SCANNED_CHARACTERS = 12_000
_MAX_NAME_CHARACTERS = 120

_PATH = re.compile(
    r"(?<![\w/.])(?:~|\.{1,2})?/?(?:[\w@+-][\w@.+-]*/)+[\w@.+-]+|(?<![\w/.-])[\w-]+\.[a-z][a-z0-9]{0,4}\b"
)
_IDENTIFIER = re.compile(r"(?<![\w/.])[A-Za-z_$][\w$]{2,}(?:\.[A-Za-z_]\w+)*")
_URL = re.compile(r"https?://[^\s\"'<>)\]]{4,200}")
_FILE_NAME = re.compile(r"[\w@+-][\w@.+-]*\.[A-Za-z][A-Za-z0-9]{0,5}\Z")
_CODE_SHAPE = re.compile(r"_|[a-z][A-Z]|[A-Z]{2,}[a-z]|[A-Za-z]\d|\.\w|\$")

# Who named it: arguments are what an agent works with, outputs are what it has only seen.
_ARGUMENT_WEIGHT, _TEXT_WEIGHT, _OUTPUT_WEIGHT = 8, 3, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Names, the most needed first."""

    paths: tuple[str, ...]
    identifiers: tuple[str, ...]


def build_ledger(messages: Sequence[StoredMessage]) -> Ledger:
    paths: Counter[str] = Counter()
    identifiers: Counter[str] = Counter()
    for age, message in enumerate(reversed(messages)):
        # Integers in units of 2^-20, so that the order never depends on a rounding.
        lately = (1 << 20) * _HALF_LIFE_MESSAGES // (_HALF_LIFE_MESSAGES + age)
        for text, weight in _sources(message):
            _add(paths, paths_in(text), lately * weight)
            _add(identifiers, identifiers_in(text), lately * weight)
    return Ledger(paths=_ordered(paths), identifiers=_ordered(identifiers))


def paths_in(text: str) -> list[str]:
    """File paths and addresses; `and/or` and `10/12` are not paths."""
    scanned = text[:_SCANNED_CHARACTERS]
    found = [url.rstrip(".,;:") for url in _URL.findall(scanned)]
    found.extend(
        path
        for match in _PATH.finditer(_URL.sub(" ", scanned))
        if _is_path(path := match.group().rstrip("."))
    )
    return [path for path in found if len(path) <= _MAX_NAME_CHARACTERS]


def identifiers_in(text: str) -> list[str]:
    """Names with the shape of code: snake_case, camelCase, dotted or with digits."""
    names = _IDENTIFIER.findall(_URL.sub(" ", text[:_SCANNED_CHARACTERS]))
    return [name for name in names if _CODE_SHAPE.search(name) and len(name) <= _MAX_NAME_CHARACTERS]


def _sources(message: StoredMessage) -> Iterator[tuple[str, int]]:
    for call in tool_calls(message):
        yield " ".join(_argument_texts(call.arguments.values())) or call.raw, _ARGUMENT_WEIGHT
    yield text_of(message), _OUTPUT_WEIGHT if message.role == "tool" else _TEXT_WEIGHT


def _argument_texts(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from _argument_texts(value.values())
        elif isinstance(value, list):
            yield from _argument_texts(value)


def _add(weights: Counter[str], names: Iterable[str], weight: int) -> None:
    for name in dict.fromkeys(names):
        weights[name] += weight


def _ordered(weights: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(weights, key=lambda name: (-weights[name], name)))


def _is_path(candidate: str) -> bool:
    parts = [part for part in candidate.split("/") if part]
    if not parts or not any(any(c.isalpha() for c in part) for part in parts):
        return False
    named = _FILE_NAME.match(parts[-1]) is not None
    if len(parts) == 1 and not candidate.startswith(("/", "~", ".")):
        return named and not candidate[0].isdigit()
    return named or len(parts) > 2 or candidate.startswith(("/", "~", "./", "../"))
