"""C4: line estimates where no tokenizer is wanted."""

import pytest

from budgets.tokens import LineCounter, counter_for, message_tokens

TEXT = "first\n\nthird\n"


@pytest.mark.parametrize(
    ("content_type", "tokens"),
    [
        ("markdown", 12),
        ("code", 15),
        ("xml", 18),
        ("json", 18),
        ("text/x-unheard-of", 12),
        ("", 12),
        ("image", 0),
    ],
)
def test_c4_a_line_costs_by_its_content_type_blank_lines_included(content_type: str, tokens: int) -> None:
    assert LineCounter(content_type).count(TEXT) == tokens


def test_c4_an_image_in_a_message_is_not_counted() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    message = {"role": "user", "content": [{"type": "text", "text": TEXT}, picture]}
    assert message_tokens(LineCounter("markdown"), message) == 12


def test_c4_the_estimate_is_named_an_estimate() -> None:
    assert counter_for("lines:json").source == "estimated"
