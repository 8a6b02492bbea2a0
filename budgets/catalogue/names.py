"""How a model is found under the names it goes by: aliases, dated releases, vendor prefixes, any case."""

import re
from collections.abc import Iterator
from typing import Generic, TypeVar

Found = TypeVar("Found")

LONGEST_NAME = 300
# Who answers for a bare name that several providers offer: makers, in this order; then hosts.
MAKERS = (
    "openai", "anthropic", "google", "mistral", "deepseek", "x-ai", "cohere", "meta", "moonshotai", "minimax",
    "zhipuai", "zai", "perplexity", "cursor",
)  # fmt: skip

# Ends that name a release of a model, not another model: dates, build numbers, `-latest`, `-v1:0`, `:free`.
_RELEASE = re.compile(
    r"(?:[-@](?:\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{8}|\d{6}|\d{3,4}|latest|default)|-v\d+(?::\d+)?|:[^/]*)$"
)
# What may stand in front: Bedrock's region, Bedrock's vendor, or anything up to a slash or colon.
_BEDROCK_VENDOR = re.compile(r"(?:ai21|amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen)\.")
_PREFIX = re.compile(
    rf"(?:us|us-gov|eu|apac|au|ca|jp|sa|global)\.|{_BEDROCK_VENDOR.pattern}|[a-z0-9@_.-]+[/:]"
)


class NameIndex(Generic[Found]):
    """Finds the host that is named outright, else the maker, else a host; the first one added wins a name."""

    def __init__(self) -> None:
        self._outright: dict[str, Found] = {}
        self._makers: dict[str, Found] = {}
        self._maker_aliases: dict[str, Found] = {}
        self._hosts: dict[str, Found] = {}

    def add_maker(self, found: Found, provider: str, name: str, aliases: tuple[str, ...]) -> None:
        _add(self._makers, found, name, f"{provider}/{name}")
        for alias in aliases:
            _add(self._maker_aliases, found, alias, f"{provider}/{alias}")

    def add_host(self, found: Found, provider: str, name: str, aliases: tuple[str, ...]) -> None:
        if name.startswith(("regional.", "global.")):
            _add(self._outright, found, name)
        for known in (name, *aliases):
            _add(self._outright, found, f"{provider}/{known}")
            _add(self._hosts, found, known, known.rpartition("/")[2])

    def find(self, name: str) -> Found | None:
        if len(name) > LONGEST_NAME:
            return None
        keys = tuple(candidates(name))
        return (
            _first(keys, self._outright)
            or _first(keys, self._makers, self._maker_aliases)
            or _first(keys, self._hosts)
        )


def candidates(name: str) -> Iterator[str]:
    """The keys to look up, most specific first: as written, without its release, without what precedes it."""
    key = name.strip().lower()
    while key:
        yield from _with_and_without_release(key)
        if _BEDROCK_VENDOR.match(key):
            yield from _with_and_without_release(f"regional.{key}")
        prefix = _PREFIX.match(key)
        key = key[prefix.end() :] if prefix else ""


def _with_and_without_release(key: str) -> Iterator[str]:
    yield key
    while release := _RELEASE.search(key):
        key = key[: release.start()]
        yield key


def _add(index: dict[str, Found], found: Found, *names: str) -> None:
    for name in names:
        index.setdefault(name.lower(), found)


def _first(keys: tuple[str, ...], *indexes: dict[str, Found]) -> Found | None:
    return next((index[key] for key in keys for index in indexes if key in index), None)
