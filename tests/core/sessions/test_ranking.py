"""Which archived messages answer a query best."""

from sessions.core.ranking import Document, Ranked, corpus_of, rank, rarest_terms, select
from sessions.core.terms import document_terms, query_terms


def documents(*texts: str) -> list[Document]:
    return [
        Document(seq=seq, terms=document_terms(t), tokens=len(t) // 4 + 1)
        for seq, t in enumerate(texts, start=1)
    ]


def ranking(query: str, *texts: str) -> list[int]:
    found = documents(*texts)
    return [entry.seq for entry in rank(found, query_terms(query), corpus_of(found))]


def test_the_message_with_the_rare_words_comes_first() -> None:
    assert (
        ranking(
            "Which port does the staging database use?",
            "Hello, how are you?",
            "Nice weather today.",
            "The staging database listens on port 6543.",
            "See you.",
        )[0]
        == 3
    )


def test_a_neighbour_of_a_hit_beats_a_stranger() -> None:
    order = ranking(
        "What did the vet say about the parrot?",
        "Some talk about nothing.",
        "Other talk about lunch.",
        "I took the parrot to the vet.",
        "And? Was it serious?",
        "Only a cold, two days of rest.",
    )
    assert order[:2] == [3, 4]


def test_it_finds_other_forms_of_a_word() -> None:
    assert (
        ranking("Who baked?", "Nothing here.", "Talk.", "More.", "Even more.", "She is baking bread.")[0] == 5
    )


def test_a_query_that_matches_nothing_ranks_nothing() -> None:
    assert ranking("zebra", "one", "two") == []


def test_candidates_are_looked_for_by_the_rarest_terms_that_exist() -> None:
    found = documents("red car", "red house", "red boat with a purple sail")
    assert rarest_terms(query_terms("purple red unicorn"), corpus_of(found), 1) == ["purpl"]


def test_selection_fills_the_budget_in_the_order_of_the_session() -> None:
    ranked = [
        Ranked(seq=9, score=3.0, tokens=50),
        Ranked(seq=2, score=2.0, tokens=60),
        Ranked(seq=5, score=1.0, tokens=40),
    ]
    assert select(ranked, 100) == [5, 9]
    assert select(ranked, 100, already=[9]) == [2, 5]
