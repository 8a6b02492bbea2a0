"""The rules of every operation: bad input has its own answer, and nothing crashes or stalls."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from budgets.models import Profile
from kernel.models import IdempotencyRecord
from tests.api.client import Answer, Api
from tests.conftest import Clock

URL = "/budgets/calculate"
OVERSIZED = settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1


def told(answer: Answer) -> tuple[int, str]:
    assert answer.headers["Content-Type"] == "application/problem+json", answer.content
    body = answer.json()
    assert set(body) >= {"type", "title", "status", "detail", "code", "request_id", "errors"}
    assert body["status"] == answer.status_code
    assert body["request_id"] == answer.headers["X-Request-Id"]
    return answer.status_code, body["code"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"total": NaN}', (400, "invalid_json")),
        (b'{"total": Infinity}', (400, "invalid_json")),
        (b'{"total": -Infinity}', (400, "invalid_json")),
        (b'{"total": 1e999}', (400, "invalid_json")),
        (b'{"total": 6400', (400, "invalid_json")),
        (b"total=6400", (400, "invalid_json")),
        (b" ", (400, "invalid_json")),
        (b'{"total": 1, "total": 2}', (400, "duplicate_key")),
        (b'{"total": 1, "measured": {"a": 1, "a": 1}}', (400, "duplicate_key")),
        (b'{"total": "\xff"}', (400, "invalid_encoding")),
        ('{"total": 6400}'.encode("utf-16"), (400, "invalid_encoding")),
        (b'\xef\xbb\xbf{"total": 6400}', (400, "invalid_json")),
        (b'{"total": -5}', (422, "invalid")),
        (b'{"total": 9223372036854775808}', (422, "invalid")),
        (b'{"total": true}', (422, "invalid")),
        (b'{"total": "1_000"}', (422, "invalid")),
        (b'{"total": " 12 "}', (422, "invalid")),
        (b'{"total": "12"}', (422, "invalid")),
        (b'{"total": 1.0}', (422, "invalid")),
        (b'{"total": ' + b"9" * 5000 + b"}", (422, "number_too_large")),
        (b'{"total": null}', (422, "invalid")),
        (b'{"total": 6400, "tokens": 1}', (422, "unknown_field")),
        (b'{"total": 6400, "\\u0000": 1}', (422, "unknown_field")),
        (b'{"total": 6400, "\\ud800": 1}', (422, "invalid_text")),
        (b'{"model": "\\u0000"}', (422, "invalid_text")),
        (b'{"model": "\\ud800"}', (422, "invalid_text")),
        (b"[]", (422, "invalid")),
        (b'"total"', (422, "invalid")),
        (b"", (422, "invalid")),
        (b"[" * 900 + b"]" * 900, (422, "too_deep")),
        (b'{"a":' * 900 + b"1" + b"}" * 900, (422, "too_deep")),
        (b"[" * 100_000 + b"]" * 100_000, (400, "invalid_json")),
        (b"[" * 100_000, (400, "invalid_json")),
        (b'{"a":' * 100_000, (400, "invalid_json")),
    ],
)
def test_a_bad_body_has_its_own_answer(api: Api, raw: bytes, expected: tuple[int, str]) -> None:
    started = time.process_time()
    assert told(api.post(URL, raw=raw)) == expected
    assert time.process_time() - started < 1
    assert api.post(URL, {"total": 6400}).status_code == 200


@pytest.mark.parametrize(
    ("raw", "content_type", "headers"),
    [
        (b'{"total": 1}', "text/plain", {}),
        (b'{"total": 1}', "application/x-www-form-urlencoded", {}),
        (b'{"total": 1}', "multipart/form-data; boundary=x", {}),
        (gzip.compress(b'{"total": 1}'), "application/json", {"Content-Encoding": "gzip"}),
        (gzip.compress(b" " * 50_000_000), "application/json", {"Content-Encoding": "gzip"}),
    ],
)
def test_other_media_are_refused_unread(
    api: Api, raw: bytes, content_type: str, headers: dict[str, str]
) -> None:
    started = time.process_time()
    answer = api.post(URL, raw=raw, content_type=content_type, headers=headers)
    assert told(answer) == (415, "unsupported_media_type")
    assert time.process_time() - started < 1


def test_a_charset_beside_the_media_type_is_fine(api: Api) -> None:
    answer = api.post(URL, {"total": 1}, content_type="application/json; charset=utf-8")
    assert answer.status_code == 200


def test_a_body_over_the_limit_is_413(api: Api) -> None:
    assert told(api.post(URL, raw=b" " * OVERSIZED)) == (413, "body_too_large")


@pytest.mark.parametrize(
    "query",
    ["limit=-1", "limit=0", f"limit={10**24}", "limit=abc", "limit=", "limit=1_0", "limit=201", "limit=%201"],
)
@pytest.mark.parametrize("path", ["/profiles", "/models", "/models/prices"])
def test_an_odd_limit_is_refused(api: Api, path: str, query: str) -> None:
    answer = api.get(f"{path}?{query}")
    assert told(answer) == (422, "invalid")
    assert answer.json()["errors"][0]["pointer"] == "/limit"


@pytest.mark.parametrize("cursor", ["%00", "abc%00", "!!!", "AA", "%F0%9F%98%80", "x" * 501, "", "4"])
@pytest.mark.parametrize("path", ["/profiles", "/models", "/models/prices"])
def test_an_odd_cursor_is_refused(api: Api, path: str, cursor: str) -> None:
    assert told(api.get(f"{path}?cursor={cursor}"))[0] == 422


@pytest.mark.parametrize(
    "path", ["/profiles?name=%00", "/models?q=a%00", "/models/prices?%00=1", "/sessions?model=%00"]
)
def test_nul_in_a_parameter_is_refused(api: Api, path: str) -> None:
    assert told(api.get(path)) == (422, "invalid_text")


@pytest.mark.parametrize("path", ["/profiles/%00", "/sessions/a%00b/budget", "/jobs/%00"])
def test_nul_in_a_path_leads_nowhere(api: Api, path: str) -> None:
    assert told(api.get(path)) == (404, "not_found")


@pytest.mark.parametrize("host", ["evil.example", "a b", "localhost/x", "[::"])
def test_an_odd_host_is_refused(api: Api, host: str) -> None:
    assert told(api.post(URL, {"total": 1}, headers={"Host": host})) == (400, "bad_request")


@pytest.mark.parametrize("key", ["", "k" * 300, "a\r\nb", "a\nb", " ", "é", "a\x00b"])
def test_an_odd_idempotency_key_is_refused(api: Api, manage_key: str, key: str) -> None:
    answer = api.post("/profiles", {"name": "x"}, key=manage_key, headers={"Idempotency-Key": key})
    assert told(answer) == (400, "invalid_idempotency_key")
    assert not Profile.objects.exists()


def test_the_longest_idempotency_key_is_taken(api: Api, manage_key: str) -> None:
    answer = api.post("/profiles", {"name": "x"}, key=manage_key, headers={"Idempotency-Key": "k" * 255})
    assert answer.status_code == 201


def test_a_key_used_for_another_request_is_refused(api: Api, manage_key: str) -> None:
    headers = {"Idempotency-Key": "once"}
    api.post("/profiles", {"name": "x"}, key=manage_key, headers=headers)
    other_body = api.post("/profiles", {"name": "y"}, key=manage_key, headers=headers)
    other_path = api.post("/profiles/x/publish", {}, key=manage_key, headers=headers)
    assert told(other_body) == told(other_path) == (422, "idempotency_key_reused")
    assert Profile.objects.count() == 1


def test_a_refusal_is_not_kept_under_the_key(api: Api, manage_key: str) -> None:
    headers = {"Idempotency-Key": "once"}
    assert api.post("/profiles", {"name": "X"}, key=manage_key, headers=headers).status_code == 422
    assert api.post("/profiles/x/publish", key=manage_key, headers=headers).status_code == 404
    assert api.post("/profiles", {"name": "x"}, key=manage_key, headers=headers).status_code == 201


def test_a_key_is_forgotten_after_a_day(api: Api, manage_key: str, clock: Clock) -> None:
    headers = {"Idempotency-Key": "once"}
    api.post("/profiles", {"name": "x"}, key=manage_key, headers=headers)
    clock.advance(hours=24, seconds=1)
    assert api.post("/profiles", {"name": "y"}, key=manage_key, headers=headers).status_code == 201
    assert IdempotencyRecord.objects.count() == 1


def test_keys_of_two_projects_do_not_meet(api: Api, manage_key: str, other_key: str) -> None:
    headers = {"Idempotency-Key": "once"}
    mine = api.post("/profiles", {"name": "x"}, key=manage_key, headers=headers)
    theirs = api.post("/profiles", {"name": "x"}, key=other_key, headers=headers)
    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert mine.json()["id"] != theirs.json()["id"]


def test_the_request_id_comes_back(api: Api) -> None:
    given = api.post(URL, {"total": 1}, headers={"X-Request-Id": "trace.1:2-3"})
    assert given.headers["X-Request-Id"] == "trace.1:2-3"
    odd = api.post(URL, {"total": 1}, headers={"X-Request-Id": "<script>"})
    assert odd.headers["X-Request-Id"].startswith("req_")


@pytest.mark.parametrize(("method", "path"), [("PUT", "/profiles"), ("DELETE", "/budgets/calculate")])
def test_a_wrong_method_is_told_in_json(api: Api, method: str, path: str) -> None:
    answer = api.request(method, path)
    assert told(answer) == (405, "method_not_allowed")
    assert answer.headers["Allow"]


def test_an_unexpected_failure_shows_no_stack_trace(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("budgets.api.calculations.calculate", explode)
    answer = api.post(URL, {"total": 1})
    assert told(answer) == (500, "internal_error")
    assert b"secret detail" not in answer.content
    assert b"Traceback" not in answer.content


def test_pages_keep_their_csrf_check(db: None) -> None:
    answer = Client(enforce_csrf_checks=True).post("/admin/login/", {"username": "a", "password": "b"})
    assert answer.status_code == 403


def test_many_errors_are_told_but_not_without_end(api: Api) -> None:
    body = {"total": 1, "measured": {f"s{number}": -1 for number in range(65)}}
    answer = api.post(URL, raw=json.dumps(body).encode())
    assert told(answer) == (422, "invalid")
    assert len(answer.json()["errors"]) == 50
