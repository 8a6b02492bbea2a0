"""Idempotency-Key: the first 2xx answer to a key is the answer to every retry."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any, TypeVar

from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse

from kernel.bytes_search import rows_holding
from kernel.clock import read_now
from kernel.errors import BadRequest, Invalid
from kernel.jobs.registry import sweep
from kernel.models import IdempotencyRecord

KEPT_FOR = timedelta(hours=24)
SUBJECT_LENGTH = 140
_FORGOTTEN_PER_ROUND = 1000
_KEY = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")

View = TypeVar("View", bound=Callable[..., HttpResponse])


def idempotent(view: View) -> View:
    """Runs a state-changing operation once per key, in one transaction with its key's row.

    The row is inserted before anything else, so that concurrent retries wait for the first
    to commit and then read its answer. Operations answer refusals that must be committed
    (a pause at a cap) by returning the response; raising rolls everything back.
    """

    @functools.wraps(view)
    def run(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        key = request.headers.get("Idempotency-Key")
        if key is None:
            with transaction.atomic():
                return view(request, *args, **kwargs)
        if not _KEY.fullmatch(key):
            raise BadRequest(
                "Idempotency-Key takes 1 to 255 printable characters.", code="invalid_idempotency_key"
            )
        return _run_once(key, view, request, *args, **kwargs)

    # django-ninja would look the annotations' names up in this module, not in the view's.
    run.__signature__ = inspect.signature(view, eval_str=True)  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


def _run_once(
    key: str, view: Callable[..., HttpResponse], request: HttpRequest, *args: Any, **kwargs: Any
) -> HttpResponse:
    project_id: str = request.auth.project_id  # type: ignore[attr-defined]
    fingerprint = _fingerprint(request)
    subject = str(kwargs.get("session_id", ""))[:SUBJECT_LENGTH]
    with transaction.atomic():
        # A second turn only when the key's holder rolled back, or its answer is too old to be kept.
        while (record_id := _insert(project_id, key, fingerprint, subject)) is None:
            replay = _replay(project_id, key, fingerprint)
            if replay is not None:
                return replay
        response = view(request, *args, **kwargs)
        row = IdempotencyRecord.objects.filter(pk=record_id)
        if 200 <= response.status_code < 300:
            row.update(status=response.status_code, body=response.content)
        else:
            row.delete()
    return response


def _fingerprint(request: HttpRequest) -> str:
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode())
    digest.update(request.body)
    return digest.hexdigest()


def _insert(project_id: str, key: str, fingerprint: str, subject: str) -> int | None:
    """The new row's id, or None when the key is taken; waits for a concurrent holder of the key."""
    table = IdempotencyRecord._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (project_id, key, fingerprint, subject, status, body, created_at)"
            " VALUES (%s, %s, %s, %s, 0, %s, %s) ON CONFLICT (project_id, key) DO NOTHING RETURNING id",
            [project_id, key, fingerprint, subject, b"", _sql_time()],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def _sql_time() -> Any:
    return connection.ops.adapt_datetimefield_value(read_now())


def _replay(project_id: str, key: str, fingerprint: str) -> HttpResponse | None:
    record = IdempotencyRecord.objects.filter(project_id=project_id, key=key).first()
    if record is None:
        return None
    if record.created_at < read_now() - KEPT_FOR:
        record.delete()
        return None
    if record.fingerprint != fingerprint:
        raise Invalid("That Idempotency-Key was used with another request.", code="idempotency_key_reused")
    response = HttpResponse(bytes(record.body), status=record.status, content_type="application/json")
    response["Idempotency-Replayed"] = "true"
    return response


def forget_answers(*, project_id: str, refs: Collection[str], session_id: str) -> None:
    """Removes the kept answers about a session: by the path of the request, or because they name it."""
    kept = IdempotencyRecord.objects.filter(project_id=project_id)
    kept.filter(subject__in=refs).delete()
    rows_holding(kept, "body", session_id.encode()).delete()


@sweep
def forget_old_answers() -> None:
    old = IdempotencyRecord.objects.filter(created_at__lt=read_now() - KEPT_FOR).order_by("created_at")
    IdempotencyRecord.objects.filter(
        pk__in=list(old.values_list("pk", flat=True)[:_FORGOTTEN_PER_ROUND])
    ).delete()
