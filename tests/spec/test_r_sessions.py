"""R6, R12, R14 and R15 over REST, with a compaction by the worker's own code."""

from __future__ import annotations

import re

import pytest

from tests.api.client import Api
from tests.session_calls import (
    compacted,
    context,
    opened,
    profiled,
    record,
    row_of,
    say,
    sent_text,
    signal_kinds,
    signals,
    turns,
    usage,
    user,
    work_off,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("model", "total", "target"),
    [
        ("gpt-3.5-turbo", 3276, 2048),
        ("gpt-4", 6553, 4096),
        ("gpt-4-32k", 26214, 16384),
        ("claude-3-opus", 160_000, 100_000),
    ],
)
def test_r6_budget_and_compaction_target_follow_the_model(
    api: Api, model: str, total: int, target: int
) -> None:
    session = opened(api, model="llama-3.3-70b")
    budget = api.patch(session, {"model": model}).json()["budget"]
    assert (budget["total"], budget["compaction_target"], budget["over"]) == (total, target, False)


def test_r6_an_overflow_is_said_and_compacted_away(api: Api) -> None:
    session = opened(api, model="claude-3-opus")
    say(api, session, *turns(60))
    assert api.patch(session, {"model": "gpt-4"}).json()["budget"]["over"]
    work_off()
    budget = api.get(f"{session}/budget").json()
    assert not budget["over"]
    assert budget["used"] <= 4096
    assert context(api, session)["report"]["dropped_unsummarised"] == 0


def test_r6_a_reported_prompt_counts_under_the_new_model_too(api: Api) -> None:
    session = opened(api, model="claude-3-opus")
    record(api, session, usage(7000))
    budget = api.patch(session, {"model": "gpt-4"}).json()["budget"]
    assert (budget["used"], budget["over"], budget["level"]) == (7000, True, "critical")
    assert budget["flags"] == {"warning": True, "compact": True}
    assert "COMPACT_DUE" in signal_kinds(api, session)


def test_r6_naming_the_same_model_again_changes_nothing(api: Api) -> None:
    session = opened(api)
    before = record(api, session, usage(6000))["budget"]["used"]
    assert api.patch(session, {"model": "gpt-4"}).json()["budget"]["used"] == before == 6000


def test_r12_memory_is_injected_and_keeps_to_a_fifth_of_the_target(api: Api) -> None:
    session = opened(api)
    facts = [user(f"My setting number {n} is {n * 31} and it matters for the report.") for n in range(80)]
    say(api, session, *facts, *turns(10))
    compacted(api, session)
    assert 0 < row_of(session).parts["memory"] <= 819
    blocks = [m["content"] for m in context(api, session)["messages"] if m["role"] == "user"]
    (block,) = [text for text in blocks if text.startswith("[Persistent Memory]\n")]
    assert "My setting number" in block


def test_r12_an_empty_memory_is_omitted(api: Api) -> None:
    session = opened(api)
    say(api, session, user("hello"))
    assert "[Persistent Memory]" not in sent_text(context(api, session))


def test_r14_archived_chunks_and_files_come_back_for_the_query(api: Api, manage_key: str) -> None:
    profiled(Api(key=manage_key), "sharing", "ratio-default", retrieval={"across_sessions": True})
    other = opened(api)
    say(api, other, user("x"), user("The staging host is called borealis."), *turns(40))
    compacted(api, other)
    session = opened(api, profile="sharing")
    say(api, session, user("x"), user("The launch code word is heliotrope."), *turns(40))
    compacted(api, session)
    own = sent_text(context(api, session, query="what is the launch code word"))
    assert "[#2] The launch code word is heliotrope." in own
    elsewhere = sent_text(context(api, session, query="what is the staging host called"))
    assert f"[{row_of(other).pk}#2] The staging host is called borealis." in elsewhere
    given = context(api, session, sections={"retrieved_context": "[src/app.py] def main(): pass"})
    assert "[src/app.py] def main(): pass" in sent_text(given)


def test_r15_low_budget_compacts_and_says_so_in_order(api: Api) -> None:
    session = opened(api)
    answer = say(api, session, *turns(40))
    assert answer["budget"]["level"] == "critical"
    total, used = answer["budget"]["total"], answer["budget"]["used"]
    work_off()
    payload = next(row["payload"] for row in signals(api, session) if row["kind"] == "COMPACTED")
    remaining = total - used
    percent = (remaining * 200 + total) // (2 * total)
    assert payload["messages"] == [
        f"[Budget] Low budget alert! {remaining} tokens remaining ({percent}%)",
        "[Memory] Context threshold reached, compressing...",
        f"[Memory] Compressed: {payload['before']} → {payload['after']} tokens"
        f" (archived {re.findall(r'archived ([0-9]+) chunks', payload['messages'][2])[0]} chunks)",
        "[Budget] Compressed and adjusted budget for next call",
    ]
    assert row_of(session).counted_tokens == payload["after"] < payload["before"]


@pytest.mark.parametrize(
    ("at_bp", "used", "due"), [(9000, 5897, False), (9000, 5898, True), (7000, 4588, True)]
)
def test_r15_the_profile_says_when_it_is_due(
    api: Api, manage_key: str, at_bp: int, used: int, due: bool
) -> None:
    threshold = {
        "flag": "compact",
        "level": "critical",
        "basis": "budget",
        "at_bp": at_bp,
        "strict": True,
        "action": "compact",
    }
    profiled(Api(key=manage_key), "own", "ratio-default", thresholds=[threshold])
    session = opened(api, profile="own")
    answer = record(api, session, {"type": "message", "message": user("hello")}, usage(used))
    assert answer["budget"]["flags"]["compact"] is due
    assert bool(api.get("/jobs").json()["items"]) is due
