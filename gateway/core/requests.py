"""What a request to a model says about itself; its bytes are passed on as they came."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
# Claude Code names its conversation inside metadata.user_id: …_session_<uuid>, or JSON with a session_id.
_SESSION_IN_USER_ID = re.compile(rf"session(?:_id)?\W*_?({_UUID})")
# Codex uses the conversation's id as its cache key; other keys group unrelated conversations.
_CONVERSATION_KEY = re.compile(_UUID)
# OpenAI writes to its cache unasked, and bills it where a model has a price for that.
AUTOMATIC = "1h"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """`messages` are the vendor's own objects, `system` stands apart where the vendor puts it apart."""

    model: str
    streamed: bool
    system: Any = None
    messages: tuple[Any, ...] = ()
    tools: tuple[Any, ...] = ()
    max_output: int | None = None
    choices: int = 1
    continues: str = ""
    conversation: str = ""
    cache_lifetime: str = ""

    @property
    def first_message(self) -> Any:
        """The first one that is no instruction: with the system prompt, what a conversation begins with."""
        for message in self.messages:
            if not (isinstance(message, dict) and message.get("role") in ("system", "developer")):
                return message
        return None

    @property
    def instructions(self) -> list[Any]:
        """System prompts in the order in which the model reads them."""
        apart = [] if self.system is None else [self.system]
        leading = []
        for message in self.messages:
            if not (isinstance(message, dict) and message.get("role") in ("system", "developer")):
                break
            leading.append(message.get("content"))
        return [*apart, *leading]


def read_chat(body: Body) -> ModelRequest:
    return ModelRequest(
        model=_model(body),
        streamed=body.get("stream") is True,
        messages=_list(body, "messages"),
        tools=_list(body, "tools"),
        max_output=_whole(body.get("max_completion_tokens")) or _whole(body.get("max_tokens")),
        choices=_whole(body.get("n")) or 1,
        conversation=_conversation_key(body),
        cache_lifetime=AUTOMATIC,
    )


def read_responses(body: Body) -> ModelRequest:
    given = body.get("input")
    messages = ({"role": "user", "content": given},) if isinstance(given, str) else _list(body, "input")
    conversation = body.get("conversation")
    stored = conversation.get("id") if isinstance(conversation, dict) else conversation
    return ModelRequest(
        model=_model(body),
        streamed=body.get("stream") is True,
        system=body.get("instructions"),
        messages=messages,
        tools=_list(body, "tools"),
        max_output=_whole(body.get("max_output_tokens")),
        continues=_text(body.get("previous_response_id")) or _text(stored),
        conversation=_text(stored) or _conversation_key(body),
        cache_lifetime=AUTOMATIC,
    )


def read_messages(body: Body) -> ModelRequest:
    metadata = body.get("metadata")
    user_id = _text(metadata.get("user_id")) if isinstance(metadata, dict) else ""
    named = _SESSION_IN_USER_ID.search(user_id)
    return ModelRequest(
        model=_model(body),
        streamed=body.get("stream") is True,
        system=body.get("system"),
        messages=_list(body, "messages"),
        tools=_list(body, "tools"),
        max_output=_whole(body.get("max_tokens")),
        conversation=named.group(1) if named else "",
        cache_lifetime=_cache_lifetime(body),
    )


def _model(body: Body) -> str:
    return _text(body.get("model"))


def _conversation_key(body: Body) -> str:
    key = _text(body.get("prompt_cache_key"))
    return key if _CONVERSATION_KEY.fullmatch(key) else ""


def _cache_lifetime(value: Any) -> str:
    """The longest lifetime that any part of the request asks the cache for: writing there costs more."""
    asked: set[str] = set()
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            control = item.get("cache_control")
            if isinstance(control, dict):
                asked.add("1h" if control.get("ttl") == "1h" else "5m")
            stack.extend(item.values())
    return "1h" if "1h" in asked else "5m" if asked else ""


def _list(body: Body, name: str) -> tuple[Any, ...]:
    value = body.get(name)
    return tuple(value) if isinstance(value, list) else ()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
