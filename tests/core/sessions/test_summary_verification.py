"""What a summary must still say before it may replace the originals."""

import pytest

from sessions.core.verification import Missing, Required, looks_like_error_text, required_from, verify


def test_a_summary_that_keeps_everything_passes() -> None:
    required = required_from(
        ["Edit src/app.py, keep 1,200 rows, call parse_policy()."], open_items=["update the docs"]
    )
    assert required.paths == {"src/app.py"}
    assert verify("src/app.py: parse_policy handles 1200 rows; docs must be updated.", required) == []


def test_it_names_what_got_lost() -> None:
    required = Required(
        paths=frozenset({"src/app.py"}),
        numbers=frozenset({"8080"}),
        identifiers=frozenset({"parse_policy"}),
        open_items=("update the billing docs",),
    )
    assert verify("Everything is fine, 18080.", required) == [
        Missing(kind="path", text="src/app.py"),
        Missing(kind="number", text="8080"),
        Missing(kind="identifier", text="parse_policy"),
        Missing(kind="open_item", text="update the billing docs"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "Error: rate limit reached",
        '{"error": {"message": "overloaded"}}',
        "<!DOCTYPE html><title>502</title>",
        "I'm sorry, but I can't help with that.",
        "503 Service Unavailable",
    ],
)
def test_an_error_is_not_a_summary(text: str) -> None:
    assert looks_like_error_text(text)


@pytest.mark.parametrize("text", ["The user fixed Error 502 in nginx.", "Summary of messages 1–5"])
def test_a_summary_may_speak_of_errors(text: str) -> None:
    assert not looks_like_error_text(text)
