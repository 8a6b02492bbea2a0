"""Spells a canonical conversation for OpenAI chat: only the fields and blocks that its messages may have."""

from __future__ import annotations

import json
import re
from typing import Any

from providers.blocks import Block, as_blocks, compact_content, image_from_anthropic
from providers.rendering.arrangement import arranged
from providers.rendering.call_ids import CallIds, accepted_name

Message = dict[str, Any]
LONGEST_ID = 40
USER_BLOCKS = ("text", "image_url", "input_audio", "file")
THOUGHTS = ("thinking", "redacted_thinking")
PARTICIPANT = re.compile(r"[^\s<|\\/>]{1,64}")


def openai_messages(messages: list[Message]) -> list[Message]:
    ids = CallIds(longest=LONGEST_ID, strict_alphabet=False, unique=False)
    spelled = (_message(message, ids) for message in arranged(messages))
    return [message for message in spelled if message is not None]


def _message(message: Message, ids: CallIds) -> Message | None:
    role = str(message.get("role") or "user")
    calls = _calls(message, ids) if role == "assistant" else []
    content = _content(message.get("content"), role)
    if content is None and not calls and role == "assistant":
        return None  # nothing but thoughts, which stay with the model that had them
    spelled: Message = {"role": role, "content": content if content is not None or calls else ""}
    if isinstance(message.get("name"), str) and PARTICIPANT.fullmatch(message["name"]):
        spelled["name"] = message["name"]
    if calls:
        spelled["tool_calls"] = calls
    if role == "tool":
        spelled["tool_call_id"] = ids.of_result(str(message.get("tool_call_id") or ""))
    return spelled


def _content(content: Any, role: str) -> str | list[Block] | None:
    if isinstance(content, str):
        return content
    blocks = [_block(block, role) for block in as_blocks(content) if block.get("type") not in THOUGHTS]
    return compact_content(blocks) if blocks else None


def _block(block: Block, role: str) -> Block:
    if block.get("type") == "text":
        return {"type": "text", "text": str(block.get("text") or "")}
    if role == "assistant" and block.get("type") == "refusal":
        return block
    if role == "user":
        converted = _user_block(block)
        if converted.get("type") in USER_BLOCKS:
            return converted
    return {"type": "text", "text": f"[{block.get('type') or 'content'} left out]"}


def _user_block(block: Block) -> Block:
    if block.get("type") == "image":
        return image_from_anthropic(block)
    source = block.get("source")
    if block.get("type") == "document" and isinstance(source, dict) and source.get("type") == "base64":
        url = f"data:{source.get('media_type')};base64,{source.get('data')}"
        return {"type": "file", "file": {"filename": str(block.get("title") or "document"), "file_data": url}}
    return block


def _calls(message: Message, ids: CallIds) -> list[Message]:
    ids.start_turn()
    return [_call(call, ids) for call in message.get("tool_calls") or ()]


def _call(call: Message, ids: CallIds) -> Message:
    function = call.get("function") or {}
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    name = accepted_name(str(function.get("name") or ""))
    call_id = ids.of_call(str(call.get("id") or ""))
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
