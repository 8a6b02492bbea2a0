"""Builds assembly requests for tests: a token is four characters, a message adds four tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from budgets.core.policy import Policy, parse_policy
from budgets.core.presets import PRESETS
from budgets.core.window import WindowBudget
from sessions.core.assembly import AssemblyRequest, Ruler, StoredMessage, anchors_of
from sessions.core.message import Body, stored_message

MESSAGE_TOKENS = 4


def count(text: str) -> int:
    return -(-len(text) // 4)


def cut(text: str, limit: int) -> str:
    return text[: max(limit, 0) * 4]


def count_message(body: Body) -> int:
    content = body.get("content") or ""
    parts = [content] if isinstance(content, str) else [part.get("text", " " * 400) for part in content]
    for call in body.get("tool_calls") or ():
        parts += [call["function"]["name"], call["function"]["arguments"]]
    return MESSAGE_TOKENS + sum(count(part) for part in parts)


RULER = Ruler(count=count, cut=cut, count_message=count_message)


def text_of(tokens: int, word: str = "word") -> str:
    """A text of exactly so many tokens (with its message's own four)."""
    length = (tokens - MESSAGE_TOKENS) * 4
    return (f"{word} " * (length // (len(word) + 1) + 1))[:length]


def stored(bodies: Sequence[Body], *, pinned: Sequence[int] = ()) -> list[StoredMessage]:
    return [
        stored_message(seq=seq, body=body, count_message=count_message, pinned=seq in pinned)
        for seq, body in enumerate(bodies, start=1)
    ]


def user(text: str = "hello", **more: Any) -> Body:
    return {"role": "user", "content": text, **more}


def assistant(text: str | None = "hi", *calls: str, arguments: str = "{}") -> Body:
    body: Body = {"role": "assistant", "content": text}
    if calls:
        body["tool_calls"] = [
            {"id": call, "type": "function", "function": {"name": "ls", "arguments": arguments}}
            for call in calls
        ]
    return body


def result(call: str, text: str = "ok") -> Body:
    return {"role": "tool", "tool_call_id": call, "content": text}


def chat(turns: int, tokens: int = 100) -> list[Body]:
    """Turns of user and assistant, each message of so many tokens."""
    bodies = [(user, assistant)[turn % 2](text_of(tokens, f"t{turn}")) for turn in range(turns)]
    return bodies


def preset(name: str, **changes: Mapping[str, Any]) -> Policy:
    """A preset with changed fields: preset("ratio-default", recent_messages={"borrows": False})."""
    document = {**PRESETS[name].document}
    document["sections"] = [{**row, **changes.get(row["name"], {})} for row in document["sections"]]
    return parse_policy(document)


def request(
    messages: Sequence[StoredMessage], policy: Policy | None = None, *, max_input: int = 4_000, **more: Any
) -> AssemblyRequest:
    head_seq = messages[-1].seq if messages else 0
    window = WindowBudget(
        context_window=2 * max_input, safe=max_input, output_reserve=0, max_input=max_input, mode="normal"
    )
    fields = {"anchors": anchors_of(messages), "head_seq": head_seq, "tail": messages, **more}
    return AssemblyRequest(
        policy=policy or preset("ratio-default"), window=window, model="a-model", ruler=RULER, **fields
    )


def recounted(plan: Any) -> int:
    system = count_message({"content": plan.system}) if plan.system else 0
    return system + sum(map(count_message, plan.messages))


def section(plan: Any, name: str) -> dict[str, Any]:
    return next(row for row in plan.report["sections"] if row["name"] == name)


def reasons(plan: Any, name: str) -> list[str]:
    return [cut["reason"] for cut in section(plan, name)["cuts"]]
