"""Field types of the REST contract: strict where pydantic is lenient."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from ninja import Query, Schema
from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr
from pydantic_core import PydanticCustomError

from kernel.http.replies import DEFAULT_PAGE, MAX_PAGE

MAX_TOKENS = 10**12
NANO = 10**9


class StrictSchema(Schema):
    """A body of the contract: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


def _storable(text: str) -> str:
    if "\x00" in text:
        raise PydanticCustomError("invalid_text", "must not contain NUL")
    return text


def _nano_usd(text: str) -> int:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise PydanticCustomError("invalid_money", "must be a decimal string in USD") from None
    if not amount.is_finite() or amount < 0 or amount > 10**9:
        raise PydanticCustomError("invalid_money", "must be between 0 and 1,000,000,000 USD")
    nano = amount * NANO
    if nano != nano.to_integral_value():
        raise PydanticCustomError("invalid_money", "has more than nine decimal places")
    return int(nano)


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    _refuse_unstorable(value)
    return value


def _refuse_unstorable(value: Any) -> None:
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise PydanticCustomError("invalid_text", "must not contain NUL or lone surrogates")
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
NanoUsd = Annotated[StrictStr, AfterValidator(_nano_usd)]
Metadata = Annotated[dict[str, Any], AfterValidator(_metadata)]
Limit = Annotated[int, Query(DEFAULT_PAGE, ge=1, le=MAX_PAGE)]
Cursor = Annotated[str | None, Query(None, max_length=500)]


def usd(nano: int | None) -> str | None:
    """Nano-USD as the shortest exact decimal string; unknown stays unknown."""
    if nano is None:
        return None
    sign, nano = ("-", -nano) if nano < 0 else ("", nano)
    whole, fraction = divmod(nano, NANO)
    decimals = f"{fraction:09d}".rstrip("0")
    return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"
