"""Terms are the same for a document and for the query that looks for it."""

import time

import pytest

from sessions.core.stemming import stem
from sessions.core.terms import CHUNK_BYTES, document_terms, index_token, query_terms, term_chunks, word_terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A path, an address and a version stay whole and give their parts.
        ("open src/app.py", ["open", "src/app.py", "src", "app", "py"]),
        ("user@x.com", ["user@x.com", "user", "x", "com"]),
        # Accents stay, and the folded word finds them too.
        ("café", ["café", "cafe"]),
        # Compatibility forms are one.
        ("ﬁle", ["file"]),
        # Identifiers are found by their words.
        ("parse_policy", ["parse_policy", "pars", "policy"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        # Chinese has no spaces: pairs of characters.
        ("東京都", ["東京", "京都"]),
        ("1,200 lines", ["1200", "line"]),
        ("The dancers were dancing", ["dancer", "danc"]),
        ("", []),
        ("it is what it is", []),
    ],
)
def test_it_makes_terms_of(text: str, expected: list[str]) -> None:
    assert word_terms(text) == expected


def test_facets_say_who_speaks_when_and_of_whom() -> None:
    assert document_terms("Ana Lima: I moved yesterday.")[-4:] == [":by:ana", ":by:lima", ":i", ":when"]
    assert not [term for term in document_terms("The sky is blue :i :when") if term.startswith(":")]


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ("bake bakes baked baking", {"bake"}),
        ("hop hops hopped hopping", {"hop"}),
        ("go goes went gone going", {"go"}),
        ("child children", {"child"}),
        ("study studies studied studying", {"study"}),
        ("use uses used using", {"use"}),
        # Inflection only: these are different words.
        ("early ear", {"early", "ear"}),
        ("need", {"need"}),
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str, expected: set[str]) -> None:
    assert {stem(form) for form in forms.split()} == expected


def test_it_finds_a_path_by_its_file_name() -> None:
    assert set(query_terms("app.py")) & set(document_terms("edited src/app.py"))


def test_it_repeats_no_query_term() -> None:
    assert query_terms("ports and port") == ["port"]


@pytest.mark.parametrize("term", ["src/app.py", "café", "東京", "user@x.com", "\ud800"])
def test_an_index_token_is_plain_letters_and_digits(term: str) -> None:
    token = index_token(term)
    assert token.isascii() and token.isalnum() and token != index_token(term + "x")


def test_chunks_stay_below_the_engines_limit_and_lose_nothing() -> None:
    terms = [f"term{i}" for i in range(40_000)]
    chunks = term_chunks(terms)
    assert len(chunks) > 1
    assert all(len(chunk) <= CHUNK_BYTES for chunk in chunks)
    assert " ".join(chunks).split() == terms


@pytest.mark.parametrize(
    "text", ["a" * 10**6, " " * 10**6, "^" * 10**6, "a." * 500_000, "'" * 10**6, "東" * 10**6, "aB" * 500_000]
)
def test_hostile_text_costs_less_than_a_second(text: str) -> None:
    started = time.process_time()
    terms = word_terms(text)
    assert time.process_time() - started < 1
    assert all(len(term) <= 64 for term in terms)
