"""The same rows as JSON, CSV or NDJSON, by Accept; CSV cells cannot be formulas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from kernel.http.replies import reply_cached

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
Row = dict[str, Any]


def respond(
    request: HttpRequest, rows: Iterable[Row], *, name: str, envelope: Row | None = None
) -> HttpResponseBase:
    exported = _exported(request, rows, name)
    return exported or reply_cached(request, {"items": list(rows), "next": None, **(envelope or {})})


def respond_one(request: HttpRequest, row: Row, *, name: str) -> HttpResponseBase:
    """Totals: an object in JSON, one line below its header in a file."""
    return _exported(request, [row], name) or reply_cached(request, row)


def _exported(request: HttpRequest, rows: Iterable[Row], name: str) -> HttpResponseBase | None:
    accept = request.headers.get("Accept", "")
    if "text/csv" in accept:
        return _streamed(csv_lines(rows), "text/csv; charset=utf-8", f"{name}.csv")
    if "application/x-ndjson" in accept:
        return _streamed((json.dumps(row) + "\n" for row in rows), "application/x-ndjson", f"{name}.ndjson")
    return None


def csv_lines(rows: Iterable[Row]) -> Iterator[str]:
    header: list[str] | None = None
    for row in rows:
        if header is None:
            header = list(row)
            yield _line(header)
        yield _line([cell(row[name]) for name in header])


def cell(value: Any) -> str:
    """Spreadsheets run cells that begin like a formula; a leading apostrophe makes them text."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    text = value if isinstance(value, str) else json.dumps(value)
    return "'" + text if text.startswith(_FORMULA_STARTS) else text


def _line(cells: list[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()


def _streamed(lines: Iterable[str], content_type: str, filename: str) -> StreamingHttpResponse:
    encoded = (line.encode("utf-8", "replace") for line in lines)
    response = StreamingHttpResponse(encoded, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response
