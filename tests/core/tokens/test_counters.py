"""Counters: names, sources, bounds, and what they do with hostile text."""

import random
import string
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgets.tokens import (
    LineCounter,
    UnknownTokenizer,
    WordCounter,
    counter_for,
    cut_to_tokens,
    cut_to_words,
)
from budgets.tokens.vocabularies import encoding

MILLION = 1_000_000
rng = random.Random(7)
HOSTILE = {
    "spaces": " " * MILLION,
    "spaces between letters": "x" + " " * MILLION + "x",
    "letter a": "a" * MILLION,
    "carets": "^" * MILLION,
    "random letters": "".join(rng.choices(string.ascii_letters, k=MILLION)),
    "random lower-case letters": "".join(rng.choices(string.ascii_lowercase, k=MILLION)),
    "newlines": "\n" * MILLION,
    "tabs": "\t" * MILLION,
    "NUL": "\0" * MILLION,
    "no-break spaces": "\u00a0" * MILLION,
    "emoji": "\U0001f600" * MILLION,
    "lone surrogates": "\ud800" * MILLION,
}
COUNTERS = ["o200k_base", "cl100k_base", "claude", "words", "lines"]
# Any text, lone surrogates and NUL included; runs make the long single tokens.
any_text = st.text(st.characters(), max_size=200) | st.text(" \n\ta^\ud83d", max_size=400)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Of the faster of two runs, where the first is above the limit: the machine may be busy."""
    for _ in range(2):
        started = time.process_time()
        work()
        if (taken := time.process_time() - started) < 1:
            break
    return taken


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_it_counts_a_million_hostile_characters_in_under_a_second(kind: str, name: str) -> None:
    counter = counter_for(name)
    assert counter.count("warm") == 1
    assert cpu_seconds(lambda: counter.count(HOSTILE[kind])) < 1


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("character", [" ", "a", "^", "\n", "\t"])
def test_cutting_a_run_into_pieces_over_counts_by_at_most_a_thousandth(name: str, character: str) -> None:
    # 900,000 is below the length at which tiktoken itself gives up.
    text = "x" + character * 900_000
    whole = len(encoding(name).encode_ordinary(text))
    assert whole <= counter_for(name).count(text) <= whole + whole // 1_000 + 1


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_long_prose_counts_exactly_as_in_one_piece(name: str) -> None:
    words = rng.choices(["alpha", "Beta", "it's", "42", "x=1;", "\n\n", "…", "naïve", "  ", "//"], k=200_000)
    text = " ".join(words)
    assert counter_for(name).count(text) == len(encoding(name).encode_ordinary(text))


@given(any_text)
@settings(max_examples=60, deadline=None)
def test_text_without_surrogates_counts_as_tiktoken_counts_it(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert counter_for("o200k_base").count(text) == len(encoding("o200k_base").encode_ordinary(text))


def test_special_tokens_are_ordinary_text() -> None:
    assert counter_for("o200k_base").count("<|endoftext|>") > 1


def test_a_lone_surrogate_counts_like_the_replacement_character() -> None:
    counter = counter_for("o200k_base")
    assert counter.count("a\ud800b") == counter.count("a\ufffdb")


def test_a_vocabulary_count_is_its_own_low_and_high() -> None:
    counter = counter_for("cl100k_base")
    assert (counter.name, counter.source) == ("cl100k_base", "counted")
    assert (counter.low(1_000), counter.high(1_000)) == (1_000, 1_000)


@pytest.mark.parametrize("name", ["claude", "generic"])
def test_a_family_without_a_public_vocabulary_is_estimated_with_bounds(name: str) -> None:
    counter = counter_for(name)
    assert (counter.name, counter.source) == (name, "estimated")
    assert counter.low(1_000) < 1_000 < counter.high(1_000)
    assert counter.count("hello " * 1_000) > counter_for("o200k_base").count("hello " * 1_000)


def test_a_learned_ratio_corrects_the_count_and_says_so() -> None:
    counter = counter_for("o200k_base", ratio_bp=12_500, margin_bp=400)
    text = "hello " * 999 + "hello"
    assert counter.source == "calibrated"
    assert counter.count(text) == -(-counter_for("o200k_base").count(text) * 125 // 100)
    assert (counter.low(1_000), counter.high(1_000)) == (960, 1_040)


def test_a_learned_ratio_of_a_family_multiplies_the_familys_own() -> None:
    text = "hello " * 1_000
    learned = counter_for("claude", ratio_bp=20_000, margin_bp=100)
    assert abs(learned.count(text) - 2 * counter_for("claude").count(text)) <= 1


def test_it_refuses_an_unknown_tokenizer() -> None:
    with pytest.raises(UnknownTokenizer, match="known are o200k_base"):
        counter_for("p50k_base")


@pytest.mark.parametrize(("ratio_bp", "margin_bp"), [(0, 0), (-1, 0), (10_000, -1)])
def test_it_refuses_a_ratio_that_cannot_be(ratio_bp: int, margin_bp: int) -> None:
    with pytest.raises(ValueError, match="ratio"):
        counter_for("claude", ratio_bp=ratio_bp, margin_bp=margin_bp)


@given(
    any_text, st.integers(-3, 150), st.sampled_from(["o200k_base", "cl100k_base", "claude", "words", "lines"])
)
@settings(max_examples=150, deadline=None)
def test_a_cut_is_a_prefix_within_the_limit(text: str, limit: int, name: str) -> None:
    counter = counter_for(name)
    cut = cut_to_tokens(counter, text, limit)
    assert text.startswith(cut)
    assert counter.count(cut) <= max(0, limit)
    if counter.count(text) <= limit:
        assert cut == text


@pytest.mark.parametrize("kind", HOSTILE)
def test_it_cuts_a_million_hostile_characters_in_under_a_second(kind: str) -> None:
    counter = counter_for("o200k_base")
    assert 0 < counter.count(cut_to_tokens(counter, HOSTILE[kind], 5_000)) <= 5_000
    assert cpu_seconds(lambda: cut_to_tokens(counter, HOSTILE[kind], 5_000)) < 1


def test_words_are_separated_by_any_whitespace() -> None:
    assert WordCounter().count(" one\ttwo\n\nthree\u00a0four ") == 4
    assert counter_for("words").source == "counted"


# text, limit, what stays
CUT_WORDS = [
    ("one  two\n three", 2, "one  two"),
    ("  one two", 1, "  one"),
    ("one two ", 2, "one two "),  # nothing to cut: the text as it is
    ("one two", 9, "one two"),
    ("one two", 0, ""),
    ("one two", -1, ""),
    ("", 3, ""),
    (" \n ", 3, " \n "),
]


@pytest.mark.parametrize(("text", "limit", "kept"), CUT_WORDS)
def test_cutting_keeps_the_first_words_with_their_spacing(text: str, limit: int, kept: str) -> None:
    assert cut_to_words(text, limit) == kept


# text, content type, tokens
LINES = [
    ("# Title\n\nText\n", "markdown", 12),
    ("a\nb", "code", 10),
    ("{\n}\n", "json", 12),
    ("<a>\r\n</a>\r\n", "application/xml", 12),
    ("{\n}", "application/vnd.api+json; charset=utf-8", 12),
    ("one\rtwo", "something else", 8),
    ("", "code", 0),
    ("\n\n\n", "code", 15),
    ("iVBORw0KGgo=\n", "image/png", 0),
]


@pytest.mark.parametrize(("text", "content_type", "tokens"), LINES)
def test_lines_are_estimated_by_content_type(text: str, content_type: str, tokens: int) -> None:
    assert LineCounter(content_type).count(text) == tokens


def test_a_line_estimate_never_passes_for_a_count() -> None:
    counter = counter_for("lines:code")
    assert counter.source == "estimated"
    assert counter.low(100) < 100 < counter.high(100)
