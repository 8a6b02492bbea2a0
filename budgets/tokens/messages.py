"""Tokens of canonical messages and tool definitions: their texts plus the rules for what surrounds them."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from budgets.tokens.counters import Counter
from budgets.tokens.images import image_tokens
from budgets.tokens.rules import ChatRules, rules_for
from budgets.tokens.tool_text import tool_namespace

IMAGE_TYPES = ("image", "image_url", "input_image")
PLAIN_TEXT_KEYS = frozenset({"type", "text", "cache_control"})
# From this length on a string of base64 is an attachment; anything else is counted as text.
PAYLOAD = re.compile(r'"(?:data:[^",\s]{0,200},)?[A-Za-z0-9+/=_-]{1024,}+"')
COUNTS_KEPT = 1_024
_counts: dict[tuple[Counter, bytes], int] = {}


def message_tokens(counter: Counter, message: Mapping[str, Any]) -> int:
    """One canonical message with its frame; the reply's own frame is `reply_tokens`, once per request."""
    rules = rules_for(counter.name)
    total = rules.message.tokens + _content_tokens(counter, rules, message.get("content"))
    total += sum(_call_tokens(counter, rules, call) for call in _items(message.get("tool_calls")))
    if name := message.get("name"):
        total += rules.name.tokens + counter.count(str(name))
    if message.get("tool_call_id"):
        total += rules.tool_result.tokens
    return total


def reply_tokens(counter: Counter) -> int:
    """What a request adds once, to open the model's answer."""
    return rules_for(counter.name).reply.tokens


def tools_tokens(counter: Counter, tools: Sequence[Mapping[str, Any]]) -> int:
    """All tool definitions of a request, in whichever shape the vendor takes them."""
    if not tools:
        return 0
    rules = rules_for(counter.name)
    shown = tool_namespace(tools) if rules.tools_as == "namespace" else "\n".join(map(_compact, tools))
    return rules.tool_prompt.tokens + rules.tool.tokens * len(tools) + _counted_once(counter, shown)


def _counted_once(counter: Counter, text: str) -> int:
    """A session sends the same definitions with every call: their count is kept, by digest."""
    key = counter, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    tokens = _counts.get(key)
    if tokens is None:
        tokens = counter.count(text)
        if len(_counts) >= COUNTS_KEPT:
            _counts.clear()  # another thread may clear as well: nothing reads the table after this
        _counts[key] = tokens
    return tokens


def _content_tokens(counter: Counter, rules: ChatRules, content: object) -> int:
    if content is None:
        return 0
    if isinstance(content, str):
        return counter.count(content)
    return sum(_block_tokens(counter, rules, block) for block in _items(content))


def _block_tokens(counter: Counter, rules: ChatRules, block: object) -> int:
    if isinstance(block, str):
        return counter.count(block)
    if not isinstance(block, Mapping):
        return counter.count(_compact(block))
    if block.keys() <= PLAIN_TEXT_KEYS and isinstance(block.get("text"), str):
        return counter.count(block["text"])
    if block.get("type") in IMAGE_TYPES:
        return image_tokens(rules.images_as, block)
    whole = _compact(block)
    text = PAYLOAD.sub('""', whole)
    payload_tokens = -(-(len(whole) - len(text)) * rules.attachment_per_kilobyte.tokens // 1_024)
    return counter.count(text) + payload_tokens


def _call_tokens(counter: Counter, rules: ChatRules, call: object) -> int:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return rules.tool_call.tokens + counter.count(_compact(call))
    arguments = function.get("arguments") or ""
    if not isinstance(arguments, str):
        arguments = _compact(arguments)
    return rules.tool_call.tokens + counter.count(str(function.get("name") or "")) + counter.count(arguments)


def _items(value: object) -> Sequence[object]:
    if isinstance(value, list | tuple):
        return value
    return () if value is None else (value,)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
