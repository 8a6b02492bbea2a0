"""The filter box: `field:value`, `field:>n`, `-field:value`; an unknown field names its nearest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from django.db.models import Q

_TERM = re.compile(r"^(?P<minus>-?)(?P<field>[a-z_]+):(?P<sign>[<>]=?)?(?P<value>.+)$")
_LOOKUPS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte", "": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What a name of the filter box means in the database."""

    column: str
    is_number: bool = False
    scale: int = 1
    is_day: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    condition: Q
    problems: tuple[str, ...]
    terms: tuple[str, ...]


def parse_filter(
    text: str, fields: Mapping[str, Field], *, words: tuple[str, ...], zone: str = "UTC"
) -> Filter:
    """Free words are looked for in the columns `words`; days are those of `zone`."""
    condition, problems = Q(), []
    terms = tuple(text.replace("\x00", "").split())
    for term in terms:
        parts = _TERM.match(term)
        if parts is None:
            condition &= _any_word(term, words)
        elif parts["field"] not in fields:
            problems.append(_unknown(parts["field"], fields))
        else:
            field = fields[parts["field"]]
            wanted = _condition(field, parts["sign"] or "", parts["value"], zone)
            if wanted is None:
                problems.append(f"“{term}” needs {'a day like 2026-01-31' if field.is_day else 'a number'}.")
            else:
                condition &= ~wanted if parts["minus"] else wanted
    return Filter(condition=condition, problems=tuple(problems), terms=terms)


def _any_word(word: str, columns: tuple[str, ...]) -> Q:
    found = Q()
    for column in columns:
        found |= Q(**{f"{column}__icontains": word})
    return found


def _condition(field: Field, sign: str, value: str, zone: str) -> Q | None:
    if field.is_day:
        return _ran_on(value, zone) if not sign else None
    if not field.is_number:
        return Q(**{f"{field.column}__iexact": value}) if not sign else None
    number = _number(value, field.scale)
    if number is None:
        return None
    lookup = _LOOKUPS[sign]
    return Q(**{f"{field.column}__{lookup}" if lookup else field.column: number})


def _ran_on(text: str, zone: str) -> Q | None:
    """What had begun and was not over yet on that day."""
    try:
        begins = datetime.combine(date.fromisoformat(text), time(), ZoneInfo(zone))
        return Q(created_at__lt=begins + timedelta(days=1), last_activity_at__gte=begins)
    except (ValueError, OverflowError):
        return None


def _number(text: str, scale: int) -> int | None:
    """Whole numbers, or decimals where the column is kept in smaller units; `5k` and `2M` are understood."""
    parts = re.fullmatch(r"([0-9]{1,12})(?:\.([0-9]{1,9}))?([kM]?)", text)
    if parts is None:
        return None
    factor = scale * {"": 1, "k": 1_000, "M": 1_000_000}[parts[3]]
    decimals = parts[2] or ""
    number: int = int(parts[1] + decimals) * factor // 10 ** len(decimals)
    return min(number, 2**62)


def _unknown(name: str, fields: Mapping[str, Field]) -> str:
    near = get_close_matches(name, fields, n=1)
    hint = f" Did you mean {near[0]}?" if near else f" Fields are {', '.join(fields)}."
    return f"There is no field “{name}”.{hint}"
