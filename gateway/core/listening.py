"""Hears what a model answered, from its one JSON body or from the events of its stream, as they pass."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

Event = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The answer as one vendor object, as far as it came; `usage` is None where the vendor sent none."""

    response: Event | None
    usage: Event | None
    response_id: str
    complete: bool
    beside: str = ""  # text that is paid for and no part of the conversation: further choices


class Listener(Protocol):
    def hear_event(self, event: Event) -> None: ...
    def hear_body(self, body: Event) -> None: ...
    def heard(self) -> Heard: ...


class ChatListener:
    """OpenAI chat completions."""

    def __init__(self) -> None:
        self._body: Event | None = None
        self._head: Event = {}
        self._usage: Event | None = None
        self._finished = False
        self._text: list[str] = []
        self._beside: list[str] = []
        self._calls: dict[int, tuple[list[str], list[str], list[str]]] = {}

    def hear_body(self, body: Event) -> None:
        self._body = body

    def hear_event(self, event: Event) -> None:
        for name in ("id", "model"):
            if name in event:
                self._head.setdefault(name, event[name])
        self._usage = _object(event.get("usage")) or self._usage
        for choice in _objects(event.get("choices")):
            self._finished = self._finished or choice.get("finish_reason") is not None
            self._hear_delta(choice.get("index") or 0, _object(choice.get("delta")) or {})

    def _hear_delta(self, choice: int, delta: Event) -> None:
        spoken = [value for name in ("content", "refusal") if isinstance(value := delta.get(name), str)]
        if choice != 0:
            self._beside += [*spoken, *(json.dumps(call) for call in _objects(delta.get("tool_calls")))]
            return
        self._text += spoken
        # Servers beside OpenAI's stream their thoughts here; they are paid for like the answer.
        self._beside += [_text(delta.get("reasoning_content"))]
        for part in _objects(delta.get("tool_calls")):
            if isinstance(part.get("index"), int):
                self._hear_call(part["index"], part)

    def _hear_call(self, index: int, part: Event) -> None:
        ids, names, arguments = self._calls.setdefault(index, ([], [], []))
        function = _object(part.get("function")) or {}
        for pieces, value in ((ids, part.get("id")), (names, function.get("name"))):
            pieces += [value] if isinstance(value, str) and not pieces else []
        arguments += [function["arguments"]] if isinstance(function.get("arguments"), str) else []

    def heard(self) -> Heard:
        if self._body is not None:
            usage = _object(self._body.get("usage"))
            choices = _objects(self._body.get("choices"))[1:]
            beside = "\n".join(json.dumps(choice.get("message")) for choice in choices)
            return Heard(
                response=self._body,
                usage=usage,
                response_id=_text(self._body.get("id")),
                complete=True,
                beside=beside,
            )
        calls = [
            {
                "id": "".join(ids),
                "type": "function",
                "function": {"name": "".join(names), "arguments": "".join(arguments)},
            }
            for _, (ids, names, arguments) in sorted(self._calls.items())
        ]
        content = "".join(self._text)
        message: Event = {"role": "assistant", "content": content or None}
        if calls:
            message["tool_calls"] = calls
        response = {**self._head, "choices": [{"index": 0, "message": message}]} if content or calls else None
        return Heard(
            response=response,
            usage=self._usage,
            response_id=_text(self._head.get("id")),
            complete=self._finished,
            beside="".join(self._beside),
        )


class MessagesListener:
    """Anthropic messages."""

    def __init__(self) -> None:
        self._message: Event = {}
        self._usage: Event = {}
        self._blocks: dict[int, Event] = {}
        self._pieces: dict[int, dict[str, list[str]]] = {}
        self._complete = False

    def hear_body(self, body: Event) -> None:
        self._message, self._usage = body, _object(body.get("usage")) or {}
        self._complete = True

    def hear_event(self, event: Event) -> None:
        kind = event.get("type")
        if kind == "message_start":
            self._message = _object(event.get("message")) or {}
            self._usage = dict(_object(self._message.get("usage")) or {})
        elif kind == "message_delta":
            # Counters here are running totals: the last one wins.
            totals = _object(event.get("usage")) or {}
            self._usage.update({name: count for name, count in totals.items() if count is not None})
        elif kind == "message_stop":
            self._complete = True
        elif isinstance(index := event.get("index"), int):
            self._hear_block(kind, index, event)

    def _hear_block(self, kind: Any, index: int, event: Event) -> None:
        block, delta = _object(event.get("content_block")), _object(event.get("delta"))
        if kind == "content_block_start" and block is not None:
            self._blocks[index] = dict(block)
        if kind != "content_block_delta" or delta is None or index not in self._blocks:
            return
        for name in ("text", "thinking", "signature", "partial_json"):
            if isinstance(delta.get(name), str):
                self._pieces.setdefault(index, {}).setdefault(name, []).append(delta[name])

    def heard(self) -> Heard:
        content = [self._block(index) for index in sorted(self._blocks)]
        whole = {**self._message, "content": content} if content else self._message
        usage = self._usage or None
        said = whole if whole.get("content") else None
        return Heard(
            response=said,
            usage=usage,
            response_id=_text(self._message.get("id")),
            complete=self._complete,
        )

    def _block(self, index: int) -> Event:
        block = dict(self._blocks[index])
        for name, pieces in self._pieces.get(index, {}).items():
            if name == "partial_json":
                block["input"] = _parsed_input("".join(pieces))
            else:
                block[name] = _text(block.get(name)) + "".join(pieces)
        return block


class ResponsesListener:
    """OpenAI Responses: the closing event repeats the whole answer."""

    CLOSING = ("response.completed", "response.incomplete", "response.failed")

    def __init__(self) -> None:
        self._response: Event | None = None
        self._id = ""
        self._items: list[Event] = []
        self._pieces: list[str] = []

    def hear_body(self, body: Event) -> None:
        self._response = body

    def hear_event(self, event: Event) -> None:
        kind, response = event.get("type"), _object(event.get("response"))
        if response is not None:
            self._id = self._id or _text(response.get("id"))
        if kind in self.CLOSING and response is not None:
            self._response, self._items, self._pieces = response, [], []
        elif kind == "response.output_item.done" and _object(event.get("item")):
            # What was heard piece by piece is now here as a whole.
            self._items.append(event["item"])
            self._pieces = []
        elif isinstance(event.get("delta"), str):
            self._pieces.append(event["delta"])

    def heard(self) -> Heard:
        if self._response is not None:
            return Heard(
                response=self._response,
                usage=_object(self._response.get("usage")),
                response_id=_text(self._response.get("id")),
                complete=True,
            )
        half = "".join(self._pieces)
        rest = [{"type": "message", "role": "assistant", "content": half}] if half else []
        output = [*self._items, *rest]
        response = {"object": "response", "id": self._id, "output": output} if output else None
        return Heard(response=response, usage=None, response_id=self._id, complete=False)


def _parsed_input(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        # A call that broke off: its beginning is all there is.
        return {"_raw_arguments": text}


def _object(value: Any) -> Event | None:
    return value if isinstance(value, dict) else None


def _objects(value: Any) -> list[Event]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
