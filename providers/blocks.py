"""Turns vendors' content blocks into canonical ones (OpenAI chat) and back; unknown blocks pass unchanged."""

from __future__ import annotations

import json
from typing import Any

Block = dict[str, Any]
Content = str | list[Block] | None

# Under this key a tool's arguments travel to Anthropic when they are not a JSON object.
RAW_ARGUMENTS = "_raw_arguments"


def as_blocks(content: Any) -> list[Block]:
    """Content of any spelling as a list of blocks; bare strings inside a list are text."""
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, dict):
        return [content]
    if not isinstance(content, list):
        return [{"type": "text", "text": json.dumps(content)}]
    return [block if isinstance(block, dict) else text_block(block) for block in content]


def text_block(value: Any) -> Block:
    return {
        "type": "text",
        "text": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
    }


def compact_content(blocks: list[Block]) -> str | list[Block]:
    """One plain text block as a string, anything else as it is."""
    if not blocks:
        return ""
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} and isinstance(blocks[0]["text"], str):
        return str(blocks[0]["text"])
    return blocks


def block_text(block: Block) -> str:
    """The text of a text block of any vendor, else nothing."""
    if block.get("type") in ("text", "input_text", "output_text"):
        text = block.get("text")
        return text if isinstance(text, str) else ""
    return ""


def plain_text(content: Any) -> str:
    """Every text block of `content`, one per line."""
    return "\n".join(filter(None, (block_text(block) for block in as_blocks(content))))


def image_from_anthropic(block: Block) -> Block:
    """Anthropic's image as OpenAI's; sources that OpenAI does not know stay as they are."""
    source = block.get("source")
    if not isinstance(source, dict):
        return block
    if source.get("type") == "base64":
        url = f"data:{source.get('media_type', 'image/png')};base64,{source.get('data', '')}"
    elif source.get("type") == "url":
        url = str(source.get("url", ""))
    else:
        return block
    return {"type": "image_url", "image_url": {"url": url}}


def image_to_anthropic(block: Block) -> Block:
    """OpenAI's image as Anthropic's; a data URL becomes base64, any other URL stays a URL."""
    image = block.get("image_url")
    url = image.get("url", "") if isinstance(image, dict) else str(image or "")
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        media_type = head.removeprefix("data:").removesuffix(";base64")
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
    return {"type": "image", "source": {"type": "url", "url": url}}


def from_anthropic(block: Block) -> Block:
    return image_from_anthropic(block) if block.get("type") == "image" else block


def from_responses(block: Block) -> Block:
    """A Responses or Codex content part as a canonical block."""
    kind = block.get("type")
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": block_text(block)}
    if kind == "input_image" and isinstance(block.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": block["image_url"]}}
    return block


def tool_call(call_id: str, name: str, arguments: str) -> Block:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def arguments_from_input(tool_input: Any) -> str:
    """A tool_use block's input as OpenAI's argument string."""
    if isinstance(tool_input, dict) and tool_input.keys() == {RAW_ARGUMENTS}:
        return str(tool_input[RAW_ARGUMENTS])
    return json.dumps({} if tool_input is None else tool_input, ensure_ascii=False)


def input_from_arguments(arguments: Any) -> Block:
    """OpenAI's argument string as the object that Anthropic demands; anything else is wrapped, not lost."""
    if isinstance(arguments, dict):
        return arguments
    text = "" if arguments is None else str(arguments)
    if not text.strip():
        return {}
    try:
        parsed = json.loads(text)
        json.dumps(parsed, allow_nan=False)  # NaN and 1e999 are no JSON
    except (ValueError, RecursionError):
        return {RAW_ARGUMENTS: text}
    return parsed if isinstance(parsed, dict) else {RAW_ARGUMENTS: text}
