"""The archive: folded messages are indexed in steps and found again by their words."""

from __future__ import annotations

import pytest

from sessions.models import ArchiveDocument, ArchiveIndex, ArchiveTerm
from sessions.services import archive_sql
from sessions.services.archive import index_up_to
from sessions.services.frames import frame_of
from tests.api.client import Api
from tests.session_calls import (
    assistant,
    compacted,
    context,
    opened,
    profiled,
    row_of,
    say,
    sent_text,
    tool_turn,
    turns,
    user,
)

pytestmark = pytest.mark.django_db


def indexed(api: Api, *texts: str, **fields: str) -> str:
    session = opened(api, **fields)
    say(api, session, *(user(text) for text in texts))
    row = row_of(session)
    index_up_to(row, frame_of(row), row.head_seq)
    return session


def search(api: Api, session: str, words: str) -> list[int]:
    items = api.get(f"{session}/messages?limit=5&q={words}").json()["items"]
    return [row["seq"] for row in items]


@pytest.mark.parametrize(
    ("words", "seq"),
    [
        ("src/app.py", 1),  # a path, as a whole
        ("app.py", 1),
        ("user%40x.com", 2),
        ("caf%C3%A9", 3),
        ("cafe", 3),
        ("parse_order", 4),
        ("parseOrder", 5),
        ("%E6%BC%A2%E5%AD%97", 6),
        ("1,200", 7),
        ("1200", 7),
    ],
)
def test_it_finds_what_engines_disagree_about(api: Api, words: str, seq: int) -> None:
    session = indexed(
        api,
        "Open src/app.py first.",
        "Write to user@x.com about it.",
        "We met at the café.",
        "Call parse_order then.",
        "Call parseOrder instead.",
        "The title is 漢字 today.",
        "It costs 1,200 in all.",
        *(f"filler sentence number {n}" for n in range(20)),
    )
    assert search(api, session, words)[0] == seq


def test_indexing_twice_or_in_parts_changes_nothing(api: Api) -> None:
    session = opened(api)
    say(api, session, *turns(40))
    row = row_of(session)
    for last in (10, 10, 60, 80, 80):
        index_up_to(row, frame_of(row), last)
    index = ArchiveIndex.objects.get()
    assert (index.indexed_to_seq, index.documents, ArchiveDocument.objects.count()) == (80, 80, 80)
    question = ArchiveTerm.objects.get(term="question")
    assert (question.documents, question.seqs) == (40, list(range(1, 81, 2)))


def test_what_tools_were_called_with_is_found(api: Api) -> None:
    session = opened(api)
    say(api, session, user("go"), *tool_turn("c1", "ok", arguments='{"path": "deploy/canary.yaml"}'))
    say(api, session, *turns(10))
    row = row_of(session)
    index_up_to(row, frame_of(row), row.head_seq)
    assert search(api, session, "canary.yaml")[0] in (2, 3)


def test_live_messages_are_found_before_any_indexing(api: Api) -> None:
    session = opened(api)
    say(api, session, user("the zebra crossed"), assistant("indeed"))
    assert search(api, session, "zebra")[0] == 1


def test_retrieved_context_leads_back_to_where_it_came_from(api: Api) -> None:
    session = opened(api)
    say(api, session, user("hello"), user("The launch code word is heliotrope."), *turns(40))
    compacted(api, session)
    text = sent_text(context(api, session, query="What was the launch code word?"))
    assert "heliotrope" in text
    assert "[#2] The launch code word is heliotrope." in text


def test_other_sessions_answer_only_where_the_profile_allows_it(api: Api, manage_key: str) -> None:
    profiled(Api(key=manage_key), "sharing", "ratio-default", retrieval={"across_sessions": True})
    other = indexed(api, "The launch code word is heliotrope.", *(f"filler {n}" for n in range(10)))
    alone, sharing = opened(api), opened(api, profile="sharing")
    for session in (alone, sharing):
        say(api, session, user("What was the launch code word?"))
    query = "launch code word"
    assert "heliotrope" not in sent_text(context(api, alone, query=query))
    text = sent_text(context(api, sharing, query=query))
    assert "heliotrope" in text and row_of(other).pk in text


def test_another_tenants_sessions_are_never_retrieved(api: Api, manage_key: str, other_key: str) -> None:
    theirs = Api(key=other_key)
    indexed(theirs, "The launch code word is heliotrope.")
    profiled(Api(key=manage_key), "sharing", "ratio-default", retrieval={"across_sessions": True})
    session = opened(api, profile="sharing")
    say(api, session, user("hello"))
    assert "heliotrope" not in sent_text(context(api, session, query="launch code word"))


def test_very_common_terms_keep_their_count_and_no_list(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_sql, "MAX_POSTINGS", 10)
    indexed(api, *(f"common word {n}" for n in range(60)))
    term = ArchiveTerm.objects.get(term="common")
    assert term.documents == 60
    assert len(term.seqs) < 60
