"""P21: no input crashes or stalls it, and every bad input has its own answer."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from django.conf import settings

from sessions.models import AgentSession, Message
from teams.models import Project
from tests.api.client import Api
from tests.proofs.hostile import Told, calls, opened, says, told
from tests.proofs.openapi_walk import Walk
from tests.proofs.racing import FULL
from tests.proofs.tenants import furnish

pytestmark = pytest.mark.django_db

ODD_TEXTS = {"nul": "a\x00b", "surrogate": "a\ud800b"}


@pytest.fixture
def path(api: Api) -> str:
    return opened(api)


def test_p21_requests_made_up_from_the_openapi_file_meet_no_server_error(project: Project) -> None:
    walk = Walk(furnish(project, "otter"), examples=40 if FULL else 2)
    walk.run()
    print(f"P21: {walk.statuses.total()} requests, {sorted(walk.statuses.items())}")
    assert walk.found == []
    assert {200, 201, 404, 422} <= set(walk.statuses)


def test_p21_the_openapi_file_is_valid(api: Api) -> None:
    document = api.get("/openapi.json").json()
    schemathesis.openapi.from_dict(document).validate()
    assert document["openapi"].startswith("3.")


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_p21_odd_text_in_content_reads_back_equal(api: Api, path: str, text: str) -> None:
    events = [
        says(text),
        says([{"type": "text", "text": text}]),
        calls(text),
        says(text, "tool", tool_call_id="c1"),
    ]
    assert api.post(f"{path}/events", {"events": events}).status_code == 201
    stored = [item["message"] for item in api.get(f"{path}/messages").json()["items"]]
    assert stored == [event["message"] for event in events]

    assert api.put(f"{path}/sections/goal", {"content": text}).status_code == 200
    assert api.post(f"{path}/memory", {"text": text}).json()["text"] == text
    assert api.post(f"{path}/scratch/dead-ends", {"description": text}).status_code == 201
    context = api.post(f"{path}/context", {"query": text, "sections": {"working_state": text}})
    assert context.status_code == 200
    assert text in context.json()["system"]
    assert text in api.get(f"{path}/scratch").json()["dead_ends"][0]["description"]


NAMES: dict[str, Callable[[str], tuple[str, str, Any]]] = {
    "model": lambda text: ("POST", "/sessions", {"model": text}),
    "task": lambda text: ("POST", "/sessions", {"model": "gpt-4", "task": text}),
    "scratch_path": lambda text: ("POST", "/sessions", {"model": "gpt-4", "scratch_path": text}),
    "parent": lambda text: ("POST", "/sessions", {"model": "gpt-4", "parent": text}),
    "metadata value": lambda text: ("POST", "/sessions", {"model": "gpt-4", "metadata": {"a": [text]}}),
    "metadata key": lambda text: ("PATCH", "", {"metadata": {"a": {text: 1}}}),
    "patched task": lambda text: ("PATCH", "", {"task": text}),
    "patched profile": lambda text: ("PATCH", "", {"profile": text}),
    "mode": lambda text: ("POST", "/context", {"mode": text}),
    "flag": lambda text: ("POST", "/pressure/clear", {"flags": [text]}),
    "epic": lambda text: ("POST", "/checkpoints", {"epic": text}),
    "memory key": lambda text: ("POST", "/memory", {"text": "t", "key": text}),
    "state": lambda text: ("POST", "/scratch/state-changes", {"new": text}),
    "child task": lambda text: ("POST", "/children", {"task": text}),
    "format": lambda text: ("POST", "/events", {"events": [says("x")], "format": text}),
    "event id": lambda text: ("POST", "/events", {"events": [says("x") | {"event_id": text}]}),
    "phase": lambda text: ("POST", "/events", {"events": [{"type": "phase", "phase": text}]}),
    "tool result id": lambda text: ("POST", "/events", {"events": [says("x", "tool", tool_call_id=text)]}),
    "openai tool id": lambda text: (
        "POST",
        "/events",
        {"format": "openai", "events": [{"role": "tool", "tool_call_id": text, "content": "x"}]},
    ),
    "hold's model": lambda text: ("POST", "/holds", {"estimate": {"input": 1}, "model": text}),
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
@pytest.mark.parametrize("field", NAMES)
def test_p21_odd_text_in_a_name_is_refused(api: Api, path: str, field: str, text: str) -> None:
    method, where, body = NAMES[field](text)
    answer = api.request(method, where if where == "/sessions" else path + where, body)
    assert told(answer) == (422, "invalid_text")
    assert not Message.objects.exists()


RAW: list[tuple[bytes, Told]] = [
    (b'{"events": ["\xff"]}', (400, "invalid_encoding")),
    ('{"events": []}'.encode("utf-16"), (400, "invalid_encoding")),
    (b'{"events": [NaN]}', (400, "invalid_json")),
    (b'{"events": [1e999]}', (400, "invalid_json")),
    (b'{"events": [{"type": "note", "type": "x"}]}', (400, "duplicate_key")),
    (b'{"events": ' + b"[" * 900 + b"]" * 900 + b"}", (422, "too_deep")),
    (b'{"events": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", (400, "invalid_json")),
    (b'{"events": []}', (422, "invalid_batch")),
    (b'{"events": [' + b"1," * 99_999 + b"1]}", (422, "invalid_batch")),
    (b'{"events": null}', (422, "invalid")),
    (b'{"events": {}}', (422, "invalid")),
    (b'{"events": [1]}', (422, "invalid_event")),
    (b'{"events": [{"type": "note", "text": "n"}], "id": 1}', (422, "unknown_field")),
    (b'{"events": [{"type": "note", "text": "n", "seq": 1}]}', (422, "unknown_field")),
    (b'{"events": [{"type": "note", "text": "n"}], "format": "morse"}', (422, "unknown_format")),
    (b" " * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1), (413, "body_too_large")),
]


@pytest.mark.parametrize(("raw", "expected"), RAW, ids=range(len(RAW)))
def test_p21_a_bad_batch_has_its_own_answer(api: Api, path: str, raw: bytes, expected: Told) -> None:
    started = time.process_time()
    assert told(api.post(f"{path}/events", raw=raw)) == expected
    assert time.process_time() - started < 1
    assert api.post(f"{path}/events", {"events": [says("still here")]}).status_code == 201


@pytest.mark.parametrize("count", ["-5", str(2**63), "true", '"1_000"', '" 12 "', "1.0", "9" * 5000])
@pytest.mark.parametrize(
    "counter",
    [
        '{"type": "usage", "usage": {"input_tokens": 1, "output_tokens": %s}}',
        '{"type": "usage", "usage": {"prompt_tokens": %s}}',
        '{"type": "usage", "usage": {"cache_creation": {"ephemeral_1h_input_tokens": %s}}}',
        '{"type": "message", "message": {"role": "user", "content": "x"}, "usage": {"input_tokens": %s}}',
    ],
)
def test_p21_a_token_count_is_a_whole_number(api: Api, path: str, counter: str, count: str) -> None:
    answer = api.post(f"{path}/events", raw=f'{{"events": [{counter % count}]}}'.encode())
    assert told(answer)[0] == 422
    assert not Message.objects.exists()


@pytest.mark.parametrize("field", ["budget_tokens", "max_output"])
@pytest.mark.parametrize("count", ["-5", str(2**63), "true", '"1_000"', '" 12 "', "1.0", "9" * 5000])
def test_p21_a_context_asks_for_whole_numbers(api: Api, path: str, field: str, count: str) -> None:
    assert told(api.post(f"{path}/context", raw=f'{{"{field}": {count}}}'.encode()))[0] == 422


def test_p21_sums_that_no_longer_fit_are_refused_and_change_nothing(api: Api) -> None:
    path = opened(api, model="claude-3-opus")
    huge = {"type": "usage", "usage": {"input_tokens": 10**12, "output_tokens": 10**12}}
    assert api.post(f"{path}/events", {"events": [huge] * 60}).status_code == 201
    before = api.get(path).json()
    assert told(api.post(f"{path}/events", {"events": [says("x"), *[huge] * 60]})) == (409, "sum_overflow")
    assert api.get(path).json() == before
    # Another session has sums of its own; those of the quarter hour are the project's.
    assert told(api.post(f"{opened(api, model='claude-3-opus')}/events", {"events": [huge] * 60})) == (
        409,
        "sum_overflow",
    )


@pytest.mark.parametrize(
    ("raw", "headers", "content_type"),
    [
        (gzip.compress(b" " * 50_000_000), {"Content-Encoding": "gzip"}, "application/json"),
        (b'{"events": []}', {}, "text/plain"),
        (b"events=1", {}, "application/x-www-form-urlencoded"),
    ],
)
def test_p21_other_media_are_refused_unread(
    api: Api, path: str, raw: bytes, headers: dict[str, str], content_type: str
) -> None:
    answer = api.post(f"{path}/events", raw=raw, headers=headers, content_type=content_type)
    assert told(answer) == (415, "unsupported_media_type")


def test_p21_a_missing_guard_is_caught(api: Api, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessions.services.ingest._refuse_unstorable_ids", lambda parsed: None)
    _, where, body = NAMES["tool result id"]("\ud800")
    assert api.post(path + where, body).status_code == 500


def test_p21_a_foreign_id_is_like_no_id(api: Api, path: str, other_key: str) -> None:
    theirs = Api(key=other_key)
    foreign = opened(theirs, external_id="theirs").removeprefix("/sessions/")
    opened(theirs)
    cursor = theirs.get("/sessions?limit=1").json()["next"]
    answers = [
        api.get(f"/sessions/{foreign}"),
        api.get("/sessions/ext:theirs/budget"),
        api.post("/sessions", {"model": "gpt-4", "parent": foreign}),
        api.get(f"/sessions?cursor={cursor}"),
        api.post(f"/sessions/{foreign}/events", {"events": [says("x")]}),
        api.post(f"/sessions/{foreign}/context", {}),
    ]
    assert [told(answer) for answer in answers] == [(404, "not_found")] * len(answers)
    assert AgentSession.objects.count() == 3


LISTS = [
    "/sessions",
    "/messages",
    "/assemblies",
    "/checkpoints",
    "/jobs",
    "/protocols",
    "/approvals",
    "/usage",
]


@pytest.mark.parametrize("where", LISTS)
@pytest.mark.parametrize(
    "query",
    ["limit=-1", "limit=0", f"limit={10**24}", "limit=abc", "limit=1_0", "cursor=%00", "cursor=abc%00"],
)
def test_p21_odd_pages_are_refused(api: Api, path: str, where: str, query: str) -> None:
    prefix = path if where in ("/messages", "/assemblies", "/checkpoints") else ""
    assert told(api.get(f"{prefix}{where}?{query}"))[0] == 422


@pytest.mark.parametrize(
    "number", ["²", "٣", "1e3", "-1", "9" * 30, "1.0", "..%2F..%2Fetc", "'--", "a" * 5000]
)
def test_p21_odd_numbers_in_a_path_lead_nowhere(api: Api, path: str, number: str) -> None:
    for where in ("assemblies", "checkpoints"):
        assert told(api.get(f"{path}/{where}/{number}")) == (404, "not_found")
    assert told(api.post(f"{path}/checkpoints/{number}/restore", {})) == (404, "not_found")


@pytest.mark.parametrize(
    "moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01T00:00:00", "5"]
)
def test_p21_a_moment_has_a_zone_and_a_sensible_year(api: Api, moment: str) -> None:
    assert told(api.get(f"/usage?since={moment}"))[0] == 422


@pytest.mark.parametrize("key", ["", "k" * 300, "a\r\nb"])
def test_p21_an_odd_idempotency_key_is_refused(api: Api, path: str, key: str) -> None:
    answer = api.post(f"{path}/events", {"events": [says("x")]}, headers={"Idempotency-Key": key})
    assert told(answer) == (400, "invalid_idempotency_key")


def test_p21_an_idempotency_key_belongs_to_one_operation(api: Api, path: str) -> None:
    headers = {"Idempotency-Key": "once"}
    assert api.post(f"{path}/events", {"events": [says("x")]}, headers=headers).status_code == 201
    for where, body in (("/events", {"events": [says("y")]}), ("/context", {}), ("/memory", {"text": "t"})):
        assert told(api.post(path + where, body, headers=headers)) == (422, "idempotency_key_reused")
    assert Message.objects.count() == 1
