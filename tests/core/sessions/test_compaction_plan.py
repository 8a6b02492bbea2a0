"""What a compaction folds: a deep prefix, whole tool groups, never what must stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.core.compaction import Attempt, FoldPlan, Refusal, plan_fold, should_start
from sessions.core.message import StoredMessage
from tests.core.sessions.conversation import assistant, result, tool_loop, user


def plan(messages: list[StoredMessage], **changes: object) -> FoldPlan | Refusal:
    live = sum(m.tokens for m in messages) + 100
    arguments: dict[str, object] = {
        "live_tokens": live,
        "target_tokens": live // 2,
        "tail_room_tokens": live // 3,
        "fixed_tokens": 100,
        "latest_user_seq": max((m.seq for m in messages if m.is_human), default=None),
    }
    return plan_fold(messages, **(arguments | changes))  # type: ignore[arg-type]


def chat(turns: int) -> list[StoredMessage]:
    return [
        user(seq, f"question {seq} " * 5) if seq % 2 else assistant(seq, f"answer {seq} " * 20)
        for seq in range(1, 2 * turns + 1)
    ]


def test_it_folds_a_prefix_and_reaches_the_target() -> None:
    messages = chat(50)
    found = plan(messages)
    assert isinstance(found, FoldPlan)
    assert found.from_seq == 1
    live = sum(m.tokens for m in messages) + 100
    assert 100 + found.keep_tokens + found.summary_budget_tokens <= live // 2
    assert found.fold_tokens + found.keep_tokens == sum(m.tokens for m in messages)


def test_it_cuts_deep_so_that_the_next_turns_do_not_overflow_again() -> None:
    messages = chat(50)
    found = plan(messages)
    assert isinstance(found, FoldPlan)
    room = (sum(m.tokens for m in messages) + 100) // 3
    assert found.keep_tokens <= room * 6_000 // 10_000


def test_it_carries_the_latest_user_turn_out_of_a_long_tool_loop() -> None:
    messages = [user(1, "Please fix the build."), *tool_loop(2, 40)]
    found = plan(messages)
    assert isinstance(found, FoldPlan)
    assert found.carried == (1,)
    assert found.folded_ranges() == ((2, found.to_seq),)


def test_it_carries_pinned_messages_verbatim() -> None:
    messages = [
        user(1, "Start."),
        *tool_loop(2, 20),
        user(42, "Never touch prod.", pinned=True),
        *tool_loop(43, 40),
    ]
    found = plan(messages)
    assert isinstance(found, FoldPlan)
    assert 42 in found.carried
    assert found.folded_ranges() == ((1, 41), (43, found.to_seq))


def test_a_pinned_result_keeps_its_call() -> None:
    messages = [user(1, "Go."), *tool_loop(2, 40)]
    found = plan(messages, pinned={5})
    assert isinstance(found, FoldPlan)
    assert {4, 5} <= set(found.carried)


def test_it_never_splits_a_call_from_its_results() -> None:
    messages = [user(1, "Go."), *tool_loop(2, 60)]
    found = plan(messages)
    assert isinstance(found, FoldPlan)
    assert found.to_seq % 2 == 1, "calls have even numbers here, their results the odd ones after them"


def test_it_does_not_touch_an_open_call_and_what_follows_it() -> None:
    loop = tool_loop(2, 30)
    open_call = assistant(62, "Running the tests.", open=("Bash", {"command": "make test"}))
    messages = [user(1, "Go."), *loop, open_call, user(63, "Still there? " * 200)]
    found = plan(messages, latest_user_seq=63)
    assert isinstance(found, FoldPlan)
    assert found.to_seq < 62


def test_a_floor_above_the_budget_is_refused_with_its_size() -> None:
    messages = [user(1, "x" * 40_000, pinned=True), *tool_loop(2, 5)]
    found = plan(messages, budget_tokens=5_000)
    assert isinstance(found, Refusal)
    assert found.reason == "floor_too_large"
    assert found.floor_tokens > 5_000


def test_one_message_is_nothing_to_fold() -> None:
    messages = [user(1, "Hello.")]
    assert plan(messages, target_tokens=5_000) == Refusal(reason="nothing_to_fold", floor_tokens=106)


def test_too_little_progress_is_refused() -> None:
    messages = [*chat(3)]
    found = plan(messages, live_tokens=100_000, target_tokens=99_000, tail_room_tokens=10)
    assert isinstance(found, Refusal)
    assert found.reason == "too_little_progress"


@given(
    sizes=st.lists(st.integers(0, 3_000), min_size=1, max_size=60),
    pins=st.sets(st.integers(1, 60), max_size=5),
    room=st.integers(0, 20_000),
)
def test_a_plan_accounts_for_every_message(sizes: list[int], pins: set[int], room: int) -> None:
    messages = [user(seq, "x" * size) for seq, size in enumerate(sizes, start=1)]
    found = plan(messages, pinned=pins, tail_room_tokens=room, budget_tokens=10**9)
    if isinstance(found, Refusal):
        return
    folded = {seq for low, high in found.folded_ranges() for seq in range(low, high + 1)}
    assert not folded & (pins | {len(sizes)})
    assert folded | set(found.carried) | set(range(found.to_seq + 1, len(sizes) + 1)) == set(
        range(1, len(sizes) + 1)
    )
    assert found.fold_tokens == sum(m.tokens for m in messages if m.seq in folded)
    assert found.keep_tokens == sum(m.tokens for m in messages if m.seq not in folded)


def start(live_tokens: int, last: Attempt | None, **changes: object) -> bool:
    arguments: dict[str, object] = {
        "live_tokens": live_tokens,
        "target_tokens": 50_000,
        "tail_room_tokens": 30_000,
        "minimum_progress_bp": 1_000,
        "last": last,
    }
    return should_start(**(arguments | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("outcome", ["committed", "fallback", "refused", "failed"])
def test_it_does_not_start_again_before_the_session_has_grown(outcome: str) -> None:
    last = Attempt(outcome=outcome, live_tokens_after=60_000, target_tokens=50_000)  # type: ignore[arg-type]
    assert not start(60_000, last)
    assert not start(62_999, last)
    assert start(63_000, last)


def test_failures_in_a_row_double_the_growth_they_wait_for() -> None:
    last = Attempt(outcome="failed", live_tokens_after=60_000, target_tokens=50_000, failures=3)
    assert not start(60_000 + 8 * 3_000 - 1, last)
    assert start(60_000 + 8 * 3_000, last)


def test_a_smaller_model_or_a_person_may_start_at_once() -> None:
    last = Attempt(outcome="committed", live_tokens_after=60_000, target_tokens=50_000)
    assert start(60_000, last, target_tokens=20_000)
    assert start(60_000, last, by_hand=True)


def test_endless_compaction_is_impossible() -> None:
    """A summariser that never shrinks anything, asked at every turn: the runs stay bounded by the growth."""
    last: Attempt | None = None
    runs, live = 0, 90_000
    for _ in range(10_000):
        live += 10
        if start(live, last):
            runs += 1
            failures = 0 if last is None else last.failures + 1
            last = Attempt(outcome="failed", live_tokens_after=live, target_tokens=50_000, failures=failures)
    assert 1 <= runs <= 7


def test_a_result_without_its_call_is_folded_like_any_message() -> None:
    messages = [result(1, "lost", "output " * 50), *chat(30)[1:]]
    found = plan(messages)
    assert isinstance(found, FoldPlan)
    assert found.from_seq == 1
