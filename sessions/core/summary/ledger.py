"""The ledger of names that work still needs: paths and identifiers, those used lately before the others."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sessions.core.message import StoredMessage
from sessions.core.reading import text_of, tool_calls

# A name loses half of its weight in this many messages: what the next calls need was mostly used just now.
_HALF_LIFE_MESSAGES = 24
# Longer outputs repeat themselves; a bound keeps one of them from costing more than a whole session.
_SCANNED_CHARACTERS = 40_000
_MAX_NAME_CHARACTERS = 200

_URL = re.compile(r"https?://[^\s\"'<>)\]\\]{4,200}")
_PATH = re.compile(r"(?<![\w/.@:])[~@]?(?:\.{0,2}/)?(?:[\w@+-][\w@.+-]*/)*[\w@+-][\w@.+-]*/?")
_IDENTIFIER = re.compile(r"(?<![\w.])#?[A-Za-z_$\d][\w$]{2,}(?:\.[A-Za-z_]\w+)*")
_CODE_SHAPE = re.compile(r"\w_\w|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d|\d{5}|[a-z]\.\w|^#\w")
_EXTENSIONS = """
c cc cfg conf cpp cs css csv env go gz h hpp html ini ipynb java js json jsonl jsx kt lock log lua md mjs
php png proto py pyi rb rs rst scss sh sql svg swift tar toml ts tsx txt vue xml yaml yml zip
"""
_FILE_NAME = re.compile(rf"[\w@.+-]*\w\.(?:{'|'.join(_EXTENSIONS.split())})\Z|Makefile\Z|Dockerfile\Z")

# Who named it: arguments are what an agent works with, outputs are what it has only seen.
_ARGUMENT_WEIGHT, _TEXT_WEIGHT, _OUTPUT_WEIGHT = 8, 3, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Names, the most needed first."""

    paths: tuple[str, ...]
    identifiers: tuple[str, ...]


def build_ledger(messages: Sequence[StoredMessage]) -> Ledger:
    """Arguments add up; what outputs say counts once, or every line of boilerplate would win."""
    paths: dict[str, int] = {}
    identifiers: dict[str, int] = {}
    for age, message in enumerate(reversed(messages)):
        # Integers in units of 2^-20, so that the order never depends on a rounding.
        lately = (1 << 20) * _HALF_LIFE_MESSAGES // (_HALF_LIFE_MESSAGES + age)
        for text, weight in _sources(message):
            _weigh(paths, paths_in(text, loose=weight == _ARGUMENT_WEIGHT), lately, weight)
            _weigh(identifiers, identifiers_in(text), lately, weight)
    return Ledger(paths=_ordered(paths), identifiers=_ordered(identifiers))


def paths_in(text: str, *, loose: bool = False) -> list[str]:
    """File paths and addresses; in prose `and/or` is no path, in a command (loose) `app/api` is one."""
    scanned = _scanned(text)
    found = [url.rstrip(".,;:") for url in _URL.findall(scanned)]
    candidates = (path.rstrip("./") for path in _PATH.findall(_URL.sub(" ", scanned)))
    found.extend(path for path in candidates if _is_path(path, loose))
    return [path for path in found if len(path) <= _MAX_NAME_CHARACTERS]


def identifiers_in(text: str) -> list[str]:
    """Names with the shape of code or of a record's key: snake_case, camelCase, dotted, with digits."""
    scanned = _PATH.sub(_without_path, _URL.sub(" ", _scanned(text)))
    names = _IDENTIFIER.findall(scanned)
    return [name for name in names if _CODE_SHAPE.search(name) and len(name) <= _MAX_NAME_CHARACTERS]


def _scanned(text: str) -> str:
    """Outputs are often JSON: its escaped line breaks and quotes would grow into the names after them."""
    return text[:_SCANNED_CHARACTERS].replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _without_path(match: re.Match[str]) -> str:
    return " " if _is_path(match.group().rstrip("./"), loose=False) else match.group()


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


def _weigh(weights: dict[str, int], names: Iterable[str], lately: int, weight: int) -> None:
    """Walks from the newest message: what stands in the weights already was named later."""
    for name in dict.fromkeys(names):
        if weight != _OUTPUT_WEIGHT:
            weights[name] = weights.get(name, 0) + lately * weight
        elif name not in weights:
            weights[name] = lately * weight


def _ordered(weights: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted(weights, key=lambda name: (-weights[name], name)))


def _is_path(candidate: str, loose: bool) -> bool:
    parts = [part for part in candidate.split("/") if part]
    if not parts or not any(c.isalpha() for c in parts[-1]):
        return False
    if _FILE_NAME.match(parts[-1]):
        return True
    if len(parts) == 1:
        return candidate.startswith(("/", "~/", "./", "../")) and len(candidate) > 3
    return loose or len(parts) > 2 or candidate.startswith(("/", "~/", "./", "../"))
