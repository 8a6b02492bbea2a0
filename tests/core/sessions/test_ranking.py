"""Which archived messages answer a query best."""

from sessions.core.ranking import (
    Corpus,
    Document,
    Ranked,
    corpus_of,
    rank,
    rarest_terms,
    search_terms,
    select,
    with_neighbours,
)
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
        Ranked(score=3.0, document=Document(seq=9, terms=["nine"], tokens=50)),
        Ranked(score=2.0, document=Document(seq=2, terms=["two"], tokens=60)),
        Ranked(score=1.0, document=Document(seq=5, terms=["five"], tokens=40)),
    ]
    assert select(ranked, 100) == [5, 9]
    assert select(ranked, 100, already=[9]) == [2, 5]


def test_selection_takes_a_repeated_message_once() -> None:
    same = ["port", "6543", "staging"]
    ranked = [Ranked(score=1.0, document=Document(seq=seq, terms=same, tokens=5)) for seq in (1, 2, 3)]
    assert select(ranked, 100) == [1]


def test_related_words_find_what_the_query_did_not_name() -> None:
    texts = [
        "Hello there.",
        "We talked.",
        "Lunch was late.",
        "Rain again.",
        "The puppy barked all night.",
        "Fine.",
    ]
    assert ranking("Any news about the dog?", *texts)[0] == 5


def test_who_is_asked_about_comes_before_who_is_not() -> None:
    order = ranking(
        "What does Ana play?",
        "Ben: I play the violin.",
        "Ben: nothing new.",
        "Ben: nothing here either.",
        "Ben: and no more.",
        "Ben: the end.",
        "Ana: I play the cello.",
    )
    assert order[0] == 6


def test_statistics_of_the_query_alone_are_enough() -> None:
    found = documents("The staging port is 6543.", "The port.", "The port again.")
    narrow = Corpus(documents=1_000, average_terms=3.0, frequencies={"stag": 1, "port": 900})
    assert rank(found, query_terms("staging port"), narrow)[0].seq == 1


def test_a_database_looks_for_related_words_after_the_querys_own() -> None:
    wanted = search_terms(query_terms("the dog"), related=3)
    assert wanted[0] == "dog"
    assert len(wanted) == 4


def test_neighbours_are_the_turns_around_a_candidate() -> None:
    assert with_neighbours([2, 9]) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
