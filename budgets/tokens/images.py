"""What an image costs: its pixels, read from the header of an inline image, by each vendor's formula."""

import struct
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Mapping
from typing import Any, Literal

# OpenAI: fit into 2048 x 2048, then the short side to 768, then 512-pixel tiles.
OPENAI_FRAME, OPENAI_SHORT_SIDE, OPENAI_TILE = 2_048, 768, 512
OPENAI_BASE_TOKENS, OPENAI_TILE_TOKENS, OPENAI_MOST_TOKENS = 85, 170, 1_445
# Anthropic: the long side to 1,568 pixels, then width x height / 750, about 1,600 at most.
ANTHROPIC_LONG_SIDE, ANTHROPIC_PIXELS_PER_TOKEN, ANTHROPIC_MOST_TOKENS = 1_568, 750, 1_600

# largest: every image at the most that any vendor charges, whatever its size.
ImageFormula = Literal["openai", "anthropic", "largest", "none"]
Size = tuple[int, int]

# A JPEG's size stands behind its metadata; more than this is not decoded to find it.
_HEADER_CHARS = 131_072
_JPEG_SIZE_MARKERS = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def image_tokens(formula: ImageFormula, block: Mapping[str, Any]) -> int:
    """An image of unknown size costs the most that the vendor charges."""
    if formula == "none":
        return 0
    if formula == "largest":
        return ANTHROPIC_MOST_TOKENS
    picture = block.get("image_url")
    details = picture if isinstance(picture, Mapping) else block
    if formula == "openai" and details.get("detail") == "low":
        return OPENAI_BASE_TOKENS
    size = _size(_inline_base64(block))
    if formula == "openai":
        return openai_image_tokens(size) if size else OPENAI_MOST_TOKENS
    return anthropic_image_tokens(size) if size else ANTHROPIC_MOST_TOKENS


def openai_image_tokens(size: Size) -> int:
    size = _shrunk(size, max(size), OPENAI_FRAME)
    width, height = _shrunk(size, min(size), OPENAI_SHORT_SIDE)
    tiles = -(-width // OPENAI_TILE) * -(-height // OPENAI_TILE)
    return OPENAI_BASE_TOKENS + OPENAI_TILE_TOKENS * tiles


def anthropic_image_tokens(size: Size) -> int:
    width, height = _shrunk(size, max(size), ANTHROPIC_LONG_SIDE)
    return min(ANTHROPIC_MOST_TOKENS, -(-width * height // ANTHROPIC_PIXELS_PER_TOKEN))


def _shrunk(size: Size, side: int, limit: int) -> Size:
    if side <= limit:
        return size
    return max(1, size[0] * limit // side), max(1, size[1] * limit // side)


def _inline_base64(block: Mapping[str, Any]) -> str:
    picture = block.get("image_url")
    url = picture.get("url") if isinstance(picture, Mapping) else picture
    if isinstance(url, str):
        return url.partition(";base64,")[2]
    source = block.get("source")
    encoded = source.get("data") if isinstance(source, Mapping) else None
    return encoded if isinstance(encoded, str) else ""


def _size(encoded: str) -> Size | None:
    head = encoded[:_HEADER_CHARS]
    try:
        header = b64decode(head[: len(head) // 4 * 4])
        size = _png(header) or _gif(header) or _webp(header) or _jpeg(header)
    except (BadBase64, struct.error, ValueError):
        return None
    return size if size and min(size) > 0 else None


def _png(header: bytes) -> Size | None:
    return struct.unpack_from(">II", header, 16) if header.startswith(b"\x89PNG\r\n\x1a\n") else None


def _gif(header: bytes) -> Size | None:
    return struct.unpack_from("<HH", header, 6) if header.startswith((b"GIF87a", b"GIF89a")) else None


def _webp(header: bytes) -> Size | None:
    if header[:4] != b"RIFF" or header[8:12] != b"WEBP":
        return None
    if header[12:16] == b"VP8X":
        return 1 + int.from_bytes(header[24:27], "little"), 1 + int.from_bytes(header[27:30], "little")
    if header[12:16] == b"VP8L":
        bits = int.from_bytes(header[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", header, 26)
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(header: bytes) -> Size | None:
    if not header.startswith(b"\xff\xd8"):
        return None
    at = 2
    while at + 9 <= len(header):
        marker, length = struct.unpack_from(">xBH", header, at)
        if marker in _JPEG_SIZE_MARKERS:
            height, width = struct.unpack_from(">HH", header, at + 5)
            return width, height
        at += 2 + length
    return None
