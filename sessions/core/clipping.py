"""Shortens a message that is larger than its room, with a visible mark; calls stay valid JSON."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sessions.core.message import Body, StoredMessage, body_text
from sessions.core.request import Ruler

# Below this a clipped message says nothing; also the least that is kept of one.
FLOOR_TOKENS = 48
# Levels are steps of a fixed ladder, so that a clipped message stays the same while rooms move a little.
LADDER_STEPS = 64
_ATTEMPTS = 8
SHORT_MARK = "[clipped]"


def clip_message(message: StoredMessage, limit: int, ruler: Ruler) -> StoredMessage:
    """The message in at most `limit` tokens where that is possible, else as short as it gets."""
    if message.tokens <= limit:
        return message
    body = _clip_body(message.body, limit, f"[clipped: {message.tokens:,} tokens in full]", ruler)
    return replace(message, body=body, tokens=ruler.count_message(body), words=len(body_text(body).split()))


def water_level(costs: Sequence[int], room: int) -> int:
    """The highest level at which the costs, each cut down to it, fit into the room together."""
    left, level = room, 0
    ascending = sorted(costs)
    for index, cost in enumerate(ascending):
        level = left // (len(ascending) - index)
        if cost > level:
            return level
        left -= cost
    return max(level, ascending[-1] if ascending else 0)


def clip_together(
    messages: Sequence[StoredMessage], room: int, ruler: Ruler, *, ladder: int | None = None
) -> dict[int, StoredMessage]:
    """All of them in the room, the largest cut to one level; a ladder rounds the level down to its steps."""
    sizes = [message.tokens for message in messages]
    level = water_level(sizes, room)
    clipped = sum(1 for size in sizes if size > level)
    if ladder is not None and clipped:
        level = _laddered(level, ladder // clipped)
    shown = _clip_to_level(messages, level, ruler)
    if _tokens(shown) > room:
        shown = _highest_level(messages, room, level, ruler)
    return _restored(messages, shown, room)


def _restored(
    messages: Sequence[StoredMessage], shown: dict[int, StoredMessage], room: int
) -> dict[int, StoredMessage]:
    """An image cannot be shortened: of two that do not fit together the newest comes back whole."""
    left = room - _tokens(shown)
    for message in reversed(messages):
        more = message.tokens - shown[message.seq].tokens
        if 0 < more <= left:
            shown[message.seq] = message
            left -= more
    return shown


def _highest_level(
    messages: Sequence[StoredMessage], room: int, most: int, ruler: Ruler
) -> dict[int, StoredMessage]:
    """Some message cannot be cut as far as its level, so the others give more; found by halving."""
    best, least = _clip_to_level(messages, 0, ruler), 0
    if _tokens(best) > room:
        return best
    for _ in range(_ATTEMPTS):
        middle = (least + most) // 2
        candidate = _clip_to_level(messages, middle, ruler)
        if _tokens(candidate) <= room:
            best, least = candidate, middle
        else:
            most = middle
    return best


def _clip_to_level(messages: Sequence[StoredMessage], level: int, ruler: Ruler) -> dict[int, StoredMessage]:
    return {message.seq: clip_message(message, level, ruler) for message in messages}


def _tokens(shown: dict[int, StoredMessage]) -> int:
    return sum(message.tokens for message in shown.values())


def _laddered(level: int, total: int) -> int:
    step = total // LADDER_STEPS
    return level - level % step if step and level >= step else level


def _clip_body(body: Body, limit: int, mark: str, ruler: Ruler) -> Body:
    bare = {**body, "content": SHORT_MARK}
    if body.get("tool_calls"):
        bare = _clip_calls(bare, limit, ruler)
    text = _visible_text(body)
    room = limit - ruler.count_message({**bare, "content": mark})
    for _ in range(_ATTEMPTS):
        if room <= 0 or not text:
            break
        clipped = {**bare, "content": f"{ruler.cut(text, room)}\n{mark}"}
        over = ruler.count_message(clipped) - limit
        if over <= 0:
            return clipped
        room -= over
    return bare


def _visible_text(body: Body) -> str:
    content = body.get("content")
    pictures = isinstance(content, list) and any(isinstance(p, dict) and "text" not in p for p in content)
    return "[attachments left out]\n" + body_text(body) if pictures else body_text(body)


def _clip_calls(body: Body, limit: int, ruler: Ruler) -> Body:
    """Arguments cut to the highest level that fits, found by halving."""
    if ruler.count_message(body) <= limit:
        return body
    sizes = [ruler.count(_arguments(call)) for call in body["tool_calls"]]
    best, least, most = _with_arguments(body, 0, ruler), 0, limit
    if ruler.count_message(best) > limit:
        return best
    for _ in range(_ATTEMPTS):
        middle = (least + most) // 2
        candidate = _with_arguments(body, water_level(sizes, middle), ruler)
        if ruler.count_message(candidate) <= limit:
            best, least = candidate, middle
        else:
            most = middle
    return best


def _with_arguments(body: Body, level: int, ruler: Ruler) -> Body:
    return {**body, "tool_calls": [_clip_call(call, level, ruler) for call in body["tool_calls"]]}


def _clip_call(call: Any, level: int, ruler: Ruler) -> Any:
    arguments = _arguments(call)
    if ruler.count(arguments) <= level or not isinstance(call, dict):
        return call
    shortened = (
        json.dumps({"clipped": ruler.cut(arguments, level)}, ensure_ascii=False) if level > 0 else "{}"
    )
    return {**call, "function": {**call["function"], "arguments": shortened}}


def _arguments(call: Any) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if isinstance(arguments, str) or arguments is None:
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True)
