"""Everything a session holds as JSONL, and a project's sessions as CSV, streamed row by row."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import StreamingHttpResponse

from kernel.http.schemas import usd
from sessions.models import AgentSession, Message
from sessions.services.store import from_bytes
from sessions.views.finding import session_page
from sessions.views.tabs import message_state
from teams.pages import PageRequest

# Spreadsheets run cells that begin like this.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
COLUMNS = (
    "id", "external_id", "task", "state", "model", "profile", "turns", "compactions", "input_tokens",
    "cache_read_tokens", "cache_write_tokens", "output_tokens", "cost_usd", "last_activity_at",
)  # fmt: skip


@session_page
def messages(request: PageRequest, session: AgentSession) -> StreamingHttpResponse:
    return streamed(_lines([session]), "application/x-ndjson", f"{session.pk}.jsonl")


def chosen_messages(sessions: Iterable[AgentSession]) -> StreamingHttpResponse:
    """Several sessions in one file, one after the other; each line names its own."""
    return streamed(_lines(sessions), "application/x-ndjson", "sessions.jsonl")


def _lines(sessions: Iterable[AgentSession]) -> Iterator[bytes]:
    for session in sessions:
        for row in Message.objects.filter(session=session).order_by("seq").iterator(chunk_size=500):
            yield json.dumps(_message(row, session)).encode() + b"\n"


def _message(row: Message, session: AgentSession) -> dict[str, Any]:
    return {
        "session": session.pk,
        "seq": row.seq,
        "role": row.role,
        "state": message_state(row.seq, session),
        "tokens": row.counts.get(session.tokenizer),
        "pinned": row.pinned,
        "at": row.created_at.isoformat().replace("+00:00", "Z"),
        "message": from_bytes(row.body),
    }


def sessions_csv(rows: Iterable[AgentSession]) -> StreamingHttpResponse:
    return streamed(_csv(rows), "text/csv; charset=utf-8", "sessions.csv")


def _csv(rows: Iterable[AgentSession]) -> Iterator[bytes]:
    yield _line(COLUMNS)
    for row in rows:
        values = {
            **{name: getattr(row, name, "") for name in COLUMNS},
            "profile": row.profile.name,
            "cost_usd": "" if row.has_unpriced and not row.spent_nano else usd(row.spent_nano),
            "last_activity_at": row.last_activity_at.isoformat(),
        }
        yield _line([_cell(values[name]) for name in COLUMNS])


def _cell(value: Any) -> str:
    """A leading apostrophe makes a formula text."""
    text = "" if value is None else str(value)
    return f"'{text}" if not isinstance(value, int) and text.startswith(FORMULA_STARTS) else text


def _line(cells: Iterable[str]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue().encode("utf-8", "replace")


def streamed(lines: Iterable[bytes], kind: str, filename: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(lines, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response
