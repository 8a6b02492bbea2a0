"""Spells a canonical conversation for Anthropic: blocks, strict alternation, a user first."""

from __future__ import annotations

from typing import Any

from providers.blocks import (
    Block,
    as_blocks,
    compact_content,
    image_to_anthropic,
    input_from_arguments,
    plain_text,
)
from providers.rendering.arrangement import arranged
from providers.rendering.call_ids import CallIds, accepted_name

Message = dict[str, Any]

# Said in the user's place when a conversation starts with the assistant.
OPENING = "[The conversation starts with the assistant.]"
USER_BLOCKS = ("text", "image", "document", "search_result", "container_upload")
RESULT_BLOCKS = ("text", "image", "document", "search_result", "tool_reference")
# What no assistant of Anthropic's may say; its other blocks (thoughts, server tools) are their own and pass.
FOREIGN_BLOCKS = ("image_url", "input_audio", "file", "video_url", "image", "document")


def anthropic_system(system: str, messages: list[Message]) -> str | None:
    """System messages have no place among Anthropic's messages: they follow the system prompt."""
    texts = [system, *(plain_text(m.get("content")) for m in messages if m.get("role") == "system")]
    return "\n\n".join(text for text in texts if text.strip()) or None


def anthropic_messages(messages: list[Message]) -> list[Message]:
    ids = CallIds(longest=64, strict_alphabet=True, unique=True)
    turns: list[tuple[str, list[Block]]] = []
    for message in arranged([m for m in messages if m.get("role") != "system"]):
        role = "assistant" if message.get("role") == "assistant" else "user"
        blocks = _blocks(message, ids)
        if not blocks:
            continue
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    if turns and turns[0][0] == "assistant":
        turns.insert(0, ("user", [{"type": "text", "text": OPENING}]))
    return [{"role": role, "content": compact_content(_results_first(blocks))} for role, blocks in turns]


def _results_first(blocks: list[Block]) -> list[Block]:
    return sorted(blocks, key=lambda block: block.get("type") != "tool_result")


def _blocks(message: Message, ids: CallIds) -> list[Block]:
    if message.get("role") == "tool":
        return [_tool_result(message, ids)]
    if message.get("role") == "assistant":
        ids.start_turn()
        said = [_assistant_block(block) for block in as_blocks(message.get("content"))]
        return [*filter(_is_accepted, said), *(_tool_use(c, ids) for c in message.get("tool_calls") or ())]
    heard = [_outside_block(block, USER_BLOCKS) for block in as_blocks(message.get("content"))]
    return list(filter(_is_accepted, heard))


def _is_accepted(block: Block) -> bool:
    """Anthropic refuses blank text and thoughts that it did not sign."""
    if block.get("type") == "text":
        return bool(str(block.get("text") or "").strip())
    return block.get("type") != "thinking" or bool(block.get("signature"))


def _assistant_block(block: Block) -> Block:
    if block.get("type") == "refusal":
        return {"type": "text", "text": str(block.get("refusal") or "")}
    return _placeholder(block) if block.get("type") in FOREIGN_BLOCKS else block


def _outside_block(block: Block, accepted: tuple[str, ...]) -> Block:
    """A block of a user or a tool."""
    if block.get("type") == "image_url":
        return image_to_anthropic(block)
    if block.get("type") == "file":
        return _document(block)
    return block if block.get("type") in accepted else _placeholder(block)


def _document(block: Block) -> Block:
    """OpenAI's file with its content inside, as a document; a file that is only named cannot travel."""
    file = block.get("file")
    head, comma, content = (
        str(file.get("file_data") or "").partition(",") if isinstance(file, dict) else ("", "", "")
    )
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return _placeholder(block)
    media_type = head.removeprefix("data:").removesuffix(";base64")
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": content}}


def _placeholder(block: Block) -> Block:
    return {"type": "text", "text": f"[{block.get('type') or 'content'} left out]"}


def _tool_use(call: Message, ids: CallIds) -> Block:
    function = call.get("function") or {}
    return {
        "type": "tool_use",
        "id": ids.of_call(str(call.get("id") or "")),
        "name": accepted_name(str(function.get("name") or "")),
        "input": input_from_arguments(function.get("arguments")),
    }


def _tool_result(message: Message, ids: CallIds) -> Block:
    result: Block = {
        "type": "tool_result",
        "tool_use_id": ids.of_result(str(message.get("tool_call_id") or "")),
    }
    blocks = [_outside_block(block, RESULT_BLOCKS) for block in as_blocks(message.get("content"))]
    blocks = list(filter(_is_accepted, blocks))
    if blocks:
        result["content"] = compact_content(blocks)
    if message.get("is_error") is True:
        result["is_error"] = True
    return result
