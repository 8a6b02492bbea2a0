"""The kinds of field a policy document is made of, and the one function that checks a value against them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from budgets.core.errors import Problem

# The contract's largest token count.
MAX_TOKENS = 10**12
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer:
    low: int = 0
    high: int = MAX_TOKENS
    nullable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A boolean; `only` narrows it to one value."""

    only: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    longest: int = 500
    placeholders: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """An object with known keys; `one_of` means exactly one of them."""

    fields: Mapping[str, Field]
    required: tuple[str, ...] = ()
    one_of: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """An object with free keys that are names."""

    value: Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    row: Field
    fewest: int = 0
    most: int = 64
    nullable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Anything:
    """Checked elsewhere, by a rule that needs its neighbours."""

    note: str = field(default="")


Field = Integer | Switch | Choice | Name | Text | Fields | Table | Rows | Anything


def check(value: object, kind: Field, pointer: str) -> Iterator[Problem]:
    match kind:
        case Integer():
            yield from _check_integer(value, kind, pointer)
        case Switch():
            yield from _check_switch(value, kind, pointer)
        case Choice(values=values):
            if not isinstance(value, str) or value not in values:
                yield Problem(pointer=pointer, detail=f"must be one of {', '.join(values)}")
        case Name():
            yield from _check_name(value, pointer)
        case Text():
            yield from _check_text(value, kind, pointer)
        case Fields():
            yield from _check_fields(value, kind, pointer)
        case Table():
            yield from _check_table(value, kind, pointer)
        case Rows():
            yield from _check_rows(value, kind, pointer)


def below(pointer: str, key: object) -> str:
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_integer(value: object, kind: Integer, pointer: str) -> Iterator[Problem]:
    if value is None and kind.nullable:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        yield Problem(pointer=pointer, detail="must be an integer")
    elif not kind.low <= value <= kind.high:
        yield Problem(pointer=pointer, detail=f"must be from {kind.low:,} to {kind.high:,}")


def _check_switch(value: object, kind: Switch, pointer: str) -> Iterator[Problem]:
    if not isinstance(value, bool):
        yield Problem(pointer=pointer, detail="must be true or false")
    elif kind.only is not None and value is not kind.only:
        yield Problem(pointer=pointer, detail=f"can only be {str(kind.only).lower()}")


def _check_name(value: object, pointer: str) -> Iterator[Problem]:
    if not isinstance(value, str) or not NAME.match(value):
        yield Problem(
            pointer=pointer, detail="must be a name: a-z, then a-z, 0-9 or _, at most 64 characters"
        )


def _check_text(value: object, kind: Text, pointer: str) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield Problem(pointer=pointer, detail="must be text")
        return
    if len(value) > kind.longest:
        yield Problem(pointer=pointer, detail=f"must have at most {kind.longest} characters")
    if UNSTORABLE.search(value):
        yield Problem(pointer=pointer, detail="must not contain NUL or lone surrogates")
    if kind.placeholders is None:
        return
    for unknown in sorted(set(re.findall(r"\{(\w*)\}", value)) - set(kind.placeholders)):
        yield Problem(pointer=pointer, detail=f"has the unknown placeholder {{{unknown}}}")


def _check_fields(value: object, kind: Fields, pointer: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem(pointer=pointer, detail="must be an object")
        return
    for key in value:
        if key in kind.fields:
            yield from check(value[key], kind.fields[key], below(pointer, key))
        else:
            yield Problem(pointer=below(pointer, key), detail="unknown field")
    for key in kind.required:
        if key not in value:
            yield Problem(pointer=below(pointer, key), detail="is required")
    if kind.one_of and len(value) != 1:
        yield Problem(pointer=pointer, detail=f"must have exactly one of {', '.join(kind.fields)}")


def _check_table(value: object, kind: Table, pointer: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem(pointer=pointer, detail="must be an object")
        return
    for key, entry in value.items():
        yield from _check_name(key, below(pointer, key))
        yield from check(entry, kind.value, below(pointer, key))


def _check_rows(value: object, kind: Rows, pointer: str) -> Iterator[Problem]:
    if value is None and kind.nullable:
        return
    if not isinstance(value, list | tuple):
        yield Problem(pointer=pointer, detail="must be a list")
        return
    if not kind.fewest <= len(value) <= kind.most:
        yield Problem(pointer=pointer, detail=f"must have from {kind.fewest} to {kind.most} entries")
    for index, row in enumerate(value):
        yield from check(row, kind.row, below(pointer, index))
