"""The one way a request body becomes Python values: strict, bounded, never a crash."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from ninja.parser import Parser

from kernel.errors import BadRequest, FieldProblem, Invalid, TooLarge, UnsupportedMedia

MAX_DEPTH = 32
# Beyond this no reader is expected to say how deep exactly: the document is simply malformed.
_HOPELESS_DEPTH = 10_000
_MAX_INTEGER_DIGITS = 40
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


class StrictJSONParser(Parser):
    """django-ninja's parser with the rules of the REST contract."""

    def parse_body(self, request: HttpRequest) -> Any:
        _require_plain_json(request)
        return parse_json(read_body(request))

    def parse_querydict(self, data: Any, list_fields: list[str], request: HttpRequest) -> dict[str, Any]:
        """No parameter is content: NUL, which Postgres refuses, is refused here for all of them."""
        for name, values in data.lists():
            if any("\x00" in text for text in (name, *values)):
                where = FieldProblem(pointer=f"/{name}", detail="must not contain NUL")
                raise Invalid("A query parameter contains NUL.", code="invalid_text", errors=(where,))
        parsed: dict[str, Any] = super().parse_querydict(data, list_fields, request)
        return parsed


def read_body(request: HttpRequest) -> bytes:
    try:
        body = request.body
    except RequestDataTooBig:
        raise body_too_large() from None
    return body


def take_chunks(request: HttpRequest) -> None:
    """Reads a body that comes without its length, which Django would take for an empty one."""
    if request.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    body = request.META["wsgi.input"].read(limit + 1)
    if len(body) > limit:
        raise body_too_large()
    # Where Django keeps a body that was read: whoever asks later gets the same one.
    request._body = body


def body_too_large() -> TooLarge:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return TooLarge(f"The body is larger than {limit:,} bytes.", code="body_too_large")


def parse_json(body: bytes) -> Any:
    text = _decode(body)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object_without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            parse_int=_bounded_int,
        )
    except RecursionError:
        raise _too_deep(body) from None
    except json.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON: {error}.", code="invalid_json") from None
    if _depth_exceeds(value, MAX_DEPTH):
        raise Invalid(f"The body nests deeper than {MAX_DEPTH} levels.", code="too_deep")
    return value


def _require_plain_json(request: HttpRequest) -> None:
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("", "identity"):
        raise UnsupportedMedia(f"Content-Encoding {encoding!r} is not accepted; send the body as it is.")
    if request.content_type != "application/json":
        raise UnsupportedMedia("Send the body as application/json.")


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest("The body is not UTF-8.", code="invalid_encoding") from None


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadRequest(f"The key {twice!r} stands twice in one object.", code="duplicate_key")
    return result


def _refuse_constant(name: str) -> Any:
    raise BadRequest(f"{name} is not a JSON number.", code="invalid_json")


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BadRequest(f"{text[:40]} is too large for a number.", code="invalid_json")
    return number


def _bounded_int(text: str) -> int:
    if len(text) > _MAX_INTEGER_DIGITS:
        raise Invalid(f"A number has {len(text):,} digits; no field takes that.", code="number_too_large")
    return int(text)


def _too_deep(body: bytes) -> BadRequest | Invalid:
    if _bracket_depth(body) < _HOPELESS_DEPTH:
        return Invalid(f"The body nests deeper than {MAX_DEPTH} levels.", code="too_deep")
    return BadRequest("The body nests too deeply to be read.", code="invalid_json")


def _bracket_depth(body: bytes) -> int:
    depth = deepest = 0
    for byte in _STRING.sub(b"", body):
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                below.extend(child for child in item.values() if type(child) in (dict, list))
            elif type(item) is list:
                below.extend(child for child in item if type(child) in (dict, list))
        if not below:
            return False
        level = below
    return True
