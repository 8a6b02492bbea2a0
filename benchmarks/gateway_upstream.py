"""The upstream that gateways are measured against: it answers after UPSTREAM_SECONDS, with usage."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

_MESSAGE = {"role": "assistant", "content": "Good morning. " * 20}
_ANSWER = {
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "gpt-4o",
    "choices": [{"index": 0, "message": _MESSAGE, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 120, "completion_tokens": 61, "total_tokens": 181},
}
_SECONDS = float(os.environ.get("UPSTREAM_SECONDS", "0"))
_sent = 0


async def application(scope: Any, receive: Any, send: Any) -> None:
    global _sent
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(_SECONDS)
    _sent += 1
    body = json.dumps({"id": f"chatcmpl-{_sent}", **_ANSWER}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
