"""Images: the size in an inline image's header decides, by each vendor's formula."""

import struct
from base64 import b64encode

import pytest

from budgets.tokens.images import anthropic_image_tokens, image_tokens, openai_image_tokens

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1024, 1024)
GIF = b"GIF89a" + struct.pack("<HH", 1024, 1024)
JPEG = (
    b"\xff\xd8\xff\xe0\0\x10"
    + b"JFIF".ljust(14, b"\0")
    + b"\xff\xc0\0\x11\x08"
    + struct.pack(">HH", 1024, 1024)
    + b"\0" * 9
)
WEBP = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 1024, 1024)
WEBP_LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 4 + b"\x2f" + (1023 | 1023 << 14).to_bytes(4, "little")
WEBP_EXTENDED = b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + (1023).to_bytes(3, "little") * 2


def openai_block(image: bytes, **more: str) -> dict[str, object]:
    url = "data:image/any;base64," + b64encode(image).decode()
    return {"type": "image_url", "image_url": {"url": url, **more}}


def anthropic_block(image: bytes) -> dict[str, object]:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/any", "data": b64encode(image).decode()},
    }


# width, height, tokens: the examples of OpenAI's vision guide, then the edges
OPENAI_SIZES = [
    (1024, 1024, 765),
    (2048, 4096, 1105),
    (512, 512, 255),
    (1, 1, 255),
    (100_000, 1, 765),
    (513, 512, 425),
]
# Anthropic's vision guide: about 54, 334, 1,334 and 1,600 tokens
ANTHROPIC_SIZES = [
    (200, 200, 54),
    (500, 500, 334),
    (1000, 1000, 1334),
    (1092, 1092, 1590),
    (4000, 4000, 1600),
]


@pytest.mark.parametrize(("width", "height", "tokens"), OPENAI_SIZES)
def test_openai_counts_tiles(width: int, height: int, tokens: int) -> None:
    assert openai_image_tokens((width, height)) == tokens


@pytest.mark.parametrize(("width", "height", "tokens"), ANTHROPIC_SIZES)
def test_anthropic_counts_pixels(width: int, height: int, tokens: int) -> None:
    assert anthropic_image_tokens((width, height)) == tokens


@pytest.mark.parametrize("image", [PNG, GIF, JPEG, WEBP, WEBP_LOSSLESS, WEBP_EXTENDED])
def test_the_size_is_read_from_the_header(image: bytes) -> None:
    assert image_tokens("openai", openai_block(image)) == 765
    assert image_tokens("anthropic", anthropic_block(image)) == 1399


@pytest.mark.parametrize(
    "image", [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8" + b"\xff\xe0\0\0" * 99, b"BM", PNG[:16] + b"\0" * 8]
)
def test_an_image_of_unknown_size_costs_the_most(image: bytes) -> None:
    assert image_tokens("openai", openai_block(image)) == 1_445
    assert image_tokens("anthropic", anthropic_block(image)) == 1_600


def test_a_linked_image_costs_the_most() -> None:
    linked = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    assert image_tokens("openai", linked) == 1_445


def test_low_detail_is_cheap_where_the_vendor_has_it() -> None:
    assert image_tokens("openai", openai_block(PNG, detail="low")) == 85
    assert image_tokens("anthropic", openai_block(PNG, detail="low")) == 1399


def test_an_unknown_vendor_is_taken_to_charge_the_most_whatever_the_size() -> None:
    assert image_tokens("largest", openai_block(PNG)) == 1_600


def test_where_images_are_not_counted_they_cost_nothing() -> None:
    assert image_tokens("none", openai_block(PNG)) == 0
