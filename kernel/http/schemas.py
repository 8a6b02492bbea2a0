"""Field types of the REST contract: strict where pydantic is lenient."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any

from ninja import Query, Schema
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from kernel.http.replies import DEFAULT_PAGE, MAX_PAGE

MAX_TOKENS = 10**12
NANO = 10**9
MAX_USD = 10**9
MAX_METADATA_CHARACTERS = 16_384
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_DECIMAL = re.compile(r"(?P<whole>[0-9]+)(?:\.(?P<fraction>[0-9]+))?")
_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class StrictSchema(Schema):
    """A body of the contract: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


def _storable(text: str) -> str:
    if UNSTORABLE.search(text):
        raise PydanticCustomError("invalid_text", "must not contain NUL or lone surrogates")
    return text


def _plain_digits(value: object) -> object:
    """A query string's number as it is meant: pydantic would also take 1_0 and spaces around it."""
    if isinstance(value, str) and not (value.isascii() and value.removeprefix("-").isdigit()):
        raise PydanticCustomError("int_parsing", "must be a whole number")
    return value


def _nano_usd(text: object) -> int:
    """Only plain digits: Decimal itself also takes 1_000, 1e5, NaN and spaces."""
    parts = _DECIMAL.fullmatch(text) if isinstance(text, str) else None
    if parts is None:
        raise PydanticCustomError("invalid_money", "must be a decimal string in USD, such as 0.05")
    whole, fraction = parts["whole"], (parts["fraction"] or "").rstrip("0")
    if len(fraction) > 9:
        raise PydanticCustomError("invalid_money", "has more than nine decimal places")
    nano = int(whole + fraction.ljust(9, "0")) if len(whole) < 12 else MAX_USD * NANO + 1
    if nano > MAX_USD * NANO:
        raise PydanticCustomError("invalid_money", "must be between 0 and 1,000,000,000 USD")
    return nano


def _moment(text: object) -> datetime:
    if not isinstance(text, str) or not _RFC_3339.fullmatch(text):
        raise PydanticCustomError("invalid_time", "must be RFC 3339 with a zone: 2026-01-31T12:00:00Z")
    try:
        moment = datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise PydanticCustomError("invalid_time", "is not a moment of any calendar") from None
    if not 1970 <= moment.year < 2200:
        raise PydanticCustomError("invalid_time", "must be between the years 1970 and 2200")
    return moment


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    """A few labels, not a document: every list of sessions shows them."""
    _refuse_unstorable(value)
    if len(json.dumps(value)) > MAX_METADATA_CHARACTERS:
        limit = f"{MAX_METADATA_CHARACTERS:,}"
        raise PydanticCustomError(
            "too_long", "must have at most {limit} characters as JSON", {"limit": limit}
        )
    return value


def _refuse_unstorable(value: Any) -> None:
    if isinstance(value, str):
        _storable(value)
    elif isinstance(value, dict):
        for key, child in value.items():
            _refuse_unstorable(key)
            _refuse_unstorable(child)
    elif isinstance(value, list):
        for child in value:
            _refuse_unstorable(child)


Tokens = Annotated[StrictInt, Field(ge=0, le=MAX_TOKENS)]
PositiveTokens = Annotated[StrictInt, Field(ge=1, le=MAX_TOKENS)]
Flag = StrictBool
Text = Annotated[StrictStr, AfterValidator(_storable), Field(max_length=4000)]
Name = Annotated[StrictStr, AfterValidator(_storable), Field(min_length=1, max_length=200)]
Slug = Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Moment = Annotated[
    datetime, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})
]
NanoUsd = Annotated[int, BeforeValidator(_nano_usd), WithJsonSchema({"type": "string", "format": "decimal"})]
Metadata = Annotated[dict[str, Any], AfterValidator(_metadata)]
PlainDigits = BeforeValidator(_plain_digits)
Limit = Annotated[int, PlainDigits, Query(DEFAULT_PAGE, ge=1, le=MAX_PAGE)]
Cursor = Annotated[str | None, Query(None, max_length=500)]


def usd(nano: int | None) -> str | None:
    """Nano-USD as the shortest exact decimal string; unknown stays unknown."""
    if nano is None:
        return None
    sign, nano = ("-", -nano) if nano < 0 else ("", nano)
    whole, fraction = divmod(nano, NANO)
    decimals = f"{fraction:09d}".rstrip("0")
    return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"
