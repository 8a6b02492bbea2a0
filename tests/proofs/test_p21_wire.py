"""P21: what only a socket can say: doubled headers, wrong lengths, odd methods and paths."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from tests.api.client import Api, LiveApi

pytestmark = pytest.mark.django_db(transaction=True)

BODY = b'{"model": "gpt-4"}'


def spoken(url: str, raw: bytes) -> bytes:
    """The server's whole answer to these very bytes."""
    parts = urlsplit(url)
    with socket.create_connection((str(parts.hostname), int(parts.port or 80)), timeout=20) as connection:
        # A server that has heard enough may answer and hang up before the end.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(raw)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    return answer


def request(line: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    fixed = [b"Host: localhost", b"Connection: close"]
    return b"\r\n".join([line + b" HTTP/1.1", *fixed, *headers, b"", body])


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_p21_the_wire_is_strict_and_the_server_stays(live_server_process: str, agent_key: str) -> None:
    url = live_server_process
    key = f"Authorization: Bearer {agent_key}".encode()
    json_body = (b"Content-Type: application/json", f"Content-Length: {len(BODY)}".encode())
    create = b"POST /api/v1/sessions"

    assert status(spoken(url, request(create, key, *json_body, body=BODY))) == 201
    # Two keys, a key that is SQL, a key in the URL, a key in a cookie: none is a key.
    for headers in (
        (key, key),
        (key, b"Authorization: Bearer x"),
        (b"Authorization: Bearer ' OR '1'='1",),
        (b"Cookie: Authorization=Bearer%20" + agent_key.encode(),),
    ):
        assert status(spoken(url, request(create, *headers, *json_body, body=BODY))) == 401
    in_url = b"GET /api/v1/sessions?key=" + agent_key.encode()
    assert status(spoken(url, request(in_url))) == 401

    # A body in chunks has no length: it is taken within the limit and refused beyond it.
    in_chunks = (key, b"Content-Type: application/json", b"Transfer-Encoding: chunked")
    small = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    assert status(spoken(url, request(create, *in_chunks, body=small))) == 201
    endless = b"".join(b"100000\r\n" + b" " * 0x100000 + b"\r\n" for _ in range(9)) + b"0\r\n\r\n"
    refused = spoken(url, request(create, *in_chunks, body=endless))
    assert (status(refused), b"application/problem+json" in refused) == (413, True)
    # A body that is longer than it says is cut where it says.
    assert status(spoken(url, request(create, key, json_body[0], b"Content-Length: 5", body=BODY))) == 400

    # Paths that are no UTF-8, that climb, that are absolute: nothing is found and nothing breaks.
    for path in (
        b"/api/v1/sessions/%ED%A0%80",
        b"/api/v1/sessions/%FF%FE",
        b"/api/v1/../../etc/passwd",
        b"/api/v1/sessions/..%2f..%2fx",
    ):
        assert status(spoken(url, request(b"GET " + path, key))) in (400, 404)
    assert status(spoken(url, request(b"GET /api/v1/sessions", key, b"X-Long: " + b"a" * 100_000))) in (
        200,
        400,
        431,
    )
    assert LiveApi(url=url, key=agent_key).get("/sessions").status_code == 200


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PUT", "DELETE", "PROPFIND", "HEAD"])
def test_p21_a_method_that_is_not_there_is_told_in_json(api: Api, method: str) -> None:
    answer = api.request(method, "/sessions")
    assert answer.status_code == 405
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert {"GET", "POST"} <= set(answer.headers["Allow"].replace(",", " ").split())


@pytest.mark.parametrize(
    "path", ["/sessions/", "//sessions", "/Sessions", "/nothing", "/", "/sessions/x/y/z", "/docs/x"]
)
def test_p21_a_path_that_is_not_there_is_told_in_json(api: Api, path: str) -> None:
    answer = api.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_p21_no_other_site_may_read_or_write(api: Api) -> None:
    """Keys travel in a header that a browser does not add by itself, and no origin is let in."""
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    answer = api.post("/sessions", {"model": "gpt-4"}, headers=headers)
    assert answer.status_code == 201
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
    assert api.post("/sessions", {"model": "gpt-4"}, key="", headers=headers).status_code == 401


def test_p21_a_poller_gets_304_until_something_happens(api: Api) -> None:
    session = api.post("/sessions", {"model": "gpt-4"}).json()["id"]
    paths = [
        "",
        "/budget",
        "/messages",
        "/signals",
        "/interventions",
        "/memory",
        "/assemblies",
        "/checkpoints",
    ]
    for path in [f"/sessions/{session}{part}" for part in paths] + ["/sessions"]:
        first = api.get(path)
        tag = first.headers["ETag"]
        for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = api.get(path, headers={"If-None-Match": given})
            assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag), (path, given)
        assert api.get(path, headers={"If-None-Match": '"other"'}).json() == json.loads(first.content)
