"""What a hostile client says, and what it is told."""

from __future__ import annotations

from typing import Any

from tests.api.client import Answer, Api

Told = tuple[int, str]


def opened(api: Api, **fields: Any) -> str:
    answer = api.post("/sessions", {"model": "gpt-4o", **fields})
    assert answer.status_code == 201, answer.content
    return f"/sessions/{answer.json()['id']}"


def told(answer: Answer) -> Told:
    assert answer.headers["Content-Type"] == "application/problem+json", answer.content
    return answer.status_code, answer.json()["code"]


def says(content: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def calls(arguments: str, call_id: str = "c1", name: str = "ls") -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return says(None, "assistant", tool_calls=[call])
