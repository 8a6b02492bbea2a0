"""A local upstream that speaks OpenAI's and Anthropic's protocols over HTTP, streams and faults included."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-upstream-secret-0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.raw)
        return value


@dataclass(kw_only=True)
class Manner:
    """How the upstream behaves; the defaults are a healthy one."""

    words: list[str] = field(default_factory=lambda: ["Hello", " from", " here"])
    output_tokens: int | None = None
    status: int = 200
    error: dict[str, Any] | None = None
    error_headers: dict[str, str] = field(default_factory=dict)
    piece_s: float = 0
    first_s: float = 0
    dies_after: int | None = None
    compressed: bool = False
    tool_calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    until: threading.Event | None = None


class Upstream:
    """Counts what it would bill: input by the request's characters, output by the words it sent."""

    def __init__(self) -> None:
        self.manner = Manner()
        self.asked: list[Asked] = []
        self.sent_pieces = 0
        self.broken_pipes = 0
        self.billed: list[tuple[int, int]] = []
        self.input_tokens: Callable[[dict[str, Any]], int] = lambda body: 25
        self._numbers = iter(range(1, 10**9))
        self._lock = threading.Lock()
        self.server = _Server(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def number(self) -> int:
        with self._lock:
            return next(self._numbers)

    def bill(self, body: dict[str, Any], output: int) -> None:
        with self._lock:
            self.billed.append((self.input_tokens(body), output))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Nagle and delayed acknowledgements would add 40 ms to every piece.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._take(b"")
                listed = [{"id": "gpt-4o", "object": "model"}]
                self._whole(200, {"object": "list", "data": listed, "has_more": False})

            def do_POST(self) -> None:
                asked = self._take(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    _answer(self, upstream, asked)
                except OSError:
                    upstream.broken_pipes += 1
                    self.close_connection = True

            def _take(self, raw: bytes) -> Asked:
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(method=self.command, path=self.path, headers=headers, raw=raw)
                upstream.asked.append(asked)
                return asked

            def _whole(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
                content = json.dumps(value).encode()
                added = {"x-upstream": "yes", "request-id": "req_upstream", **(headers or {})}
                if upstream.manner.compressed and "gzip" in self.headers.get("accept-encoding", ""):
                    content, added["Content-Encoding"] = gzip.compress(content), "gzip"
                self.send_response(status)
                for name, text in {**added, "Content-Type": "application/json"}.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def _stream(self, events: Iterator[bytes]) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream; charset=utf-8")
                self.send_header("x-upstream", "yes")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for number, event in enumerate(events):
                    if upstream.manner.dies_after == number:
                        self.close_connection = True
                        self.wfile.flush()
                        self.connection.close()
                        return
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                    self.wfile.flush()
                    upstream.sent_pieces += 1
                    time.sleep(upstream.manner.piece_s)
                self.wfile.write(b"0\r\n\r\n")
                self.wfile.flush()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


class _Server(ThreadingHTTPServer):
    request_queue_size = 256


def _answer(handler: Any, upstream: Upstream, asked: Asked) -> None:
    manner, body = upstream.manner, asked.body
    if manner.until is not None:
        manner.until.wait(30)
    time.sleep(manner.first_s)
    if asked.path.startswith("/v1/messages/count_tokens"):
        return handler._whole(200, {"input_tokens": 42})
    if manner.status != 200:
        return handler._whole(manner.status, manner.error, manner.error_headers)
    speaker = _SPEAKERS[asked.path.partition("?")[0]](upstream, body)
    if body.get("stream"):
        return handler._stream(speaker.events())
    if manner.dies_after is not None:
        handler.close_connection = True
        return handler.connection.close()
    whole = speaker.whole()
    return handler._whole(200, whole)


class _Speaker:
    def __init__(self, upstream: Upstream, body: dict[str, Any]) -> None:
        self.upstream, self.manner, self.body = upstream, upstream.manner, body
        self.number = upstream.number()
        self.input = upstream.input_tokens(body)
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or body.get("max_output_tokens")
        self.words = self.manner.words[: limit if isinstance(limit, int) else None]
        self.output = self.manner.output_tokens if self.manner.output_tokens is not None else len(self.words)

    def calls(self) -> list[tuple[str, str, str]]:
        return [
            (f"call_{self.number}_{place}", name, json.dumps(arguments))
            for place, (name, arguments) in enumerate(self.manner.tool_calls)
        ]

    def billed(self) -> None:
        self.upstream.bill(self.body, self.output)


class Chat(_Speaker):
    @property
    def usage(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.input,
            "completion_tokens": self.output,
            "total_tokens": self.input + self.output,
            "prompt_tokens_details": {"cached_tokens": 0},
        }

    def head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.number}",
            "object": kind,
            "created": 1_700_000_000,
            "model": self.body["model"] + "-2024-08-06",
        }

    def whole(self) -> dict[str, Any]:
        calls = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in self.calls()
        ]
        message = {"role": "assistant", "content": None if calls else "".join(self.words), "refusal": None}
        if calls:
            message["tool_calls"] = calls  # type: ignore[assignment]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        self.billed()
        return {**self.head("chat.completion"), "choices": [choice], "usage": self.usage}

    def events(self) -> Iterator[bytes]:
        self.billed()
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [] if self.manner.tool_calls else [{"content": word} for word in self.words]
        for place, (call_id, name, arguments) in enumerate(self.calls()):
            start = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            deltas.append({"tool_calls": [{"index": place, **start}]})
            for at in range(0, len(arguments), 5):
                piece = {"index": place, "function": {"arguments": arguments[at : at + 5]}}
                deltas.append({"tool_calls": [piece]})
        for delta in deltas:
            yield self._chunk([{"index": 0, "delta": delta, "finish_reason": None}])
        reason = "tool_calls" if self.manner.tool_calls else "stop"
        yield self._chunk([{"index": 0, "delta": {}, "finish_reason": reason}])
        if (self.body.get("stream_options") or {}).get("include_usage"):
            yield self._chunk([], usage=self.usage)
        yield b"data: [DONE]\n\n"

    def _chunk(self, choices: list[Any], **more: Any) -> bytes:
        event = {**self.head("chat.completion.chunk"), "choices": choices, **more}
        return b"data: " + json.dumps(event).encode() + b"\n\n"


class Messages(_Speaker):
    def head(self) -> dict[str, Any]:
        return {
            "id": f"msg_{self.number}",
            "type": "message",
            "role": "assistant",
            "model": self.body["model"],
            "stop_sequence": None,
        }

    def usage(self, output: int) -> dict[str, Any]:
        return {
            "input_tokens": self.input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output,
        }

    def blocks(self) -> list[dict[str, Any]]:
        said = [] if self.manner.tool_calls else [{"type": "text", "text": "".join(self.words)}]
        return [
            *said,
            *(
                {"type": "tool_use", "id": call_id, "name": name, "input": json.loads(arguments)}
                for call_id, name, arguments in self.calls()
            ),
        ]

    def whole(self) -> dict[str, Any]:
        self.billed()
        stop = "tool_use" if self.manner.tool_calls else "end_turn"
        return {
            **self.head(),
            "content": self.blocks(),
            "stop_reason": stop,
            "usage": self.usage(self.output),
        }

    def events(self) -> Iterator[bytes]:
        self.billed()
        start = {**self.head(), "content": [], "stop_reason": None, "usage": self.usage(1)}
        yield _sse("message_start", message=start)
        yield _sse("ping")
        for place, block in enumerate(self.blocks()):
            yield from self._block(place, block)
        stop = "tool_use" if self.manner.tool_calls else "end_turn"
        usage = {"output_tokens": self.output}
        yield _sse("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage)
        yield _sse("message_stop")

    def _block(self, place: int, block: dict[str, Any]) -> Iterator[bytes]:
        if block["type"] == "text":
            empty, name, kind, pieces = {**block, "text": ""}, "text", "text_delta", self.words
        else:
            text = json.dumps(block["input"])
            pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
            empty, name, kind = {**block, "input": {}}, "partial_json", "input_json_delta"
        yield _sse("content_block_start", index=place, content_block=empty)
        for piece in pieces:
            yield _sse("content_block_delta", index=place, delta={"type": kind, name: piece})
        yield _sse("content_block_stop", index=place)


class Responses(_Speaker):
    def whole(self) -> dict[str, Any]:
        self.billed()
        return self._response("completed", self._output())

    def _output(self) -> list[dict[str, Any]]:
        calls = [
            {
                "type": "function_call",
                "id": f"fc_{call_id}",
                "call_id": call_id,
                "name": name,
                "arguments": arguments,
                "status": "completed",
            }
            for call_id, name, arguments in self.calls()
        ]
        text = {"type": "output_text", "text": "".join(self.words), "annotations": []}
        said = {
            "type": "message",
            "id": f"item_{self.number}",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }
        return calls or [said]

    def _response(self, status: str, output: list[Any]) -> dict[str, Any]:
        usage = {
            "input_tokens": self.input,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.input + self.output,
        }
        return {
            "id": f"resp_{self.number}",
            "object": "response",
            "created_at": 1_700_000_000,
            "model": self.body["model"],
            "status": status,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage if status == "completed" else None,
        }

    def events(self) -> Iterator[bytes]:
        self.billed()
        numbers = iter(range(10**6))
        yield _sse(
            "response.created", response=self._response("in_progress", []), sequence_number=next(numbers)
        )
        where = {"item_id": f"item_{self.number}", "output_index": 0}
        part = {"type": "output_text", "text": "", "annotations": []}
        done = self._response("completed", self._output())
        item = done["output"][0]
        begun = {**item, "content": [], "status": "in_progress"}
        yield _sse("response.output_item.added", item=begun, output_index=0, sequence_number=next(numbers))
        inside = {**where, "content_index": 0}
        yield _sse("response.content_part.added", part=part, sequence_number=next(numbers), **inside)
        for word in self.words:
            event = {"delta": word, "logprobs": [], "sequence_number": next(numbers), **inside}
            yield _sse("response.output_text.delta", **event)
        yield _sse("response.output_item.done", item=item, output_index=0, sequence_number=next(numbers))
        yield _sse("response.completed", response=done, sequence_number=next(numbers))


def _sse(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


_SPEAKERS: dict[str, Callable[[Upstream, dict[str, Any]], Any]] = {
    "/v1/chat/completions": Chat,
    "/v1/messages": Messages,
    "/v1/responses": Responses,
}
