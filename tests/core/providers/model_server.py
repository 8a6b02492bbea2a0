"""A local HTTP server that speaks OpenAI's and Anthropic's protocols, faults included."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server does with one request."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    wait_s: float = 0
    drip_s: float = 0
    close: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ModelServer:
    """Answers by script; when the script is used up, by `otherwise`."""

    def __init__(self, otherwise: Callable[[Asked], Answer]) -> None:
        self.script: list[Answer] = []
        self.otherwise = otherwise
        self.asked: list[Asked] = []
        self.stopping = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(path=self.path, headers=headers, body=json.loads(content))
                model.asked.append(asked)
                answer = model.script.pop(0) if model.script else model.otherwise(asked)
                model.stopping.wait(answer.wait_s)
                if not answer.close:
                    self._answer(answer)

            def _answer(self, answer: Answer) -> None:
                content = answer.raw if answer.raw is not None else json.dumps(answer.body).encode()
                try:
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    for piece in (
                        (content[at : at + 1] for at in range(len(content))) if answer.drip_s else (content,)
                    ):
                        self.wfile.write(piece)
                        self.wfile.flush()
                        time.sleep(answer.drip_s)
                except OSError:
                    pass  # the client gave up, as it should

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


def openai_answer(text: Any, *, finish: str = "stop", **message: Any) -> Answer:
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text, **message},
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return Answer(
        body={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": "gpt-x-1",
            "choices": [choice],
            "usage": usage,
        }
    )


def anthropic_answer(text: Any, *, stop: str = "end_turn") -> Answer:
    content = [{"type": "text", "text": text}] if text is not None else []
    usage = {"input_tokens": 100, "cache_read_input_tokens": 0, "output_tokens": 20}
    return Answer(
        body={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-x-1",
            "content": content,
            "stop_reason": stop,
            "usage": usage,
        }
    )
