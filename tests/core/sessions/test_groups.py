"""Calls and results stay together, found from the newest message and no further than needed."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.core.groups import LOOKBACK_MESSAGES, fit_tail, group_of, newest_group, open_calls, segments
from sessions.core.message import StoredMessage
from tests.core.sessions.contexts import assistant, chat, result, stored, text_of, user


def _starts(messages: Sequence[StoredMessage]) -> list[int]:
    return [segment.first for segment in segments(messages)]


def test_it_makes_one_segment_of_a_call_and_all_its_results():
    calls = [f"c{n}" for n in range(12)]
    messages = stored([user(), assistant(None, *calls), *(result(call) for call in calls), assistant("done")])

    assert _starts(messages) == [14, 1, 0]


def test_it_keeps_interleaved_messages_between_a_call_and_its_late_result():
    messages = stored([user(), assistant(None, "a", "b"), result("a"), user("stop"), result("b"), user()])

    assert _starts(messages) == [5, 1, 0]


def test_it_treats_a_result_without_a_call_as_a_message_of_its_own():
    messages = stored([user(), assistant(), result("nobody"), user(), result("nobody"), user()])

    assert _starts(messages) == [5, 4, 3, 2, 1, 0]


def test_it_resolves_reused_ids_to_the_nearest_call():
    turn = [assistant(None, "call_0"), result("call_0")]
    messages = stored([user(), *turn, *turn, *turn])

    assert _starts(messages) == [5, 3, 1, 0]


def test_it_finds_calls_that_were_reported_one_by_one():
    messages = stored([user(), assistant(None, "a"), assistant(None, "b"), result("a"), result("b")])

    assert _starts(messages) == [1, 0]


def test_it_fits_whole_segments_only():
    messages = stored([user(text_of(50)), assistant(None, "a"), result("a", text_of(90)), user(text_of(30))])
    whole = sum(message.tokens for message in messages)

    assert fit_tail(messages, whole).first == 0
    assert fit_tail(messages, whole - 1).first == 1
    assert fit_tail(messages, 120).first == 3
    assert fit_tail(messages, 120).tokens == 30
    assert fit_tail(messages, 29).first == 4


def test_it_does_not_charge_what_is_paid_elsewhere():
    messages = stored(chat(4, tokens=100))

    assert fit_tail(messages, 200, free={4}).first == 1


def test_it_stops_at_what_a_summary_covers():
    messages = stored(chat(6, tokens=10))

    assert fit_tail(messages, 1_000, after=4).first == 4


class _Counting(Sequence[StoredMessage]):
    def __init__(self, messages: list[StoredMessage]) -> None:
        self.messages = messages
        self.reads = 0

    def __len__(self) -> int:
        return len(self.messages)

    def __getitem__(self, index):
        self.reads += 1
        return self.messages[index]


def test_it_never_reads_what_cannot_fit():
    messages = _Counting(stored(chat(5_000, tokens=100)))

    assert fit_tail(messages, 1_000).first == 4_990
    assert messages.reads < 20


def test_an_orphan_costs_a_bounded_look_back():
    messages = _Counting(stored([*chat(5_000, tokens=100), result("nobody")]))

    fit_tail(messages, 1_000)

    assert messages.reads < 2 * LOOKBACK_MESSAGES


def test_the_newest_group_is_the_call_with_all_its_results():
    messages = stored([user(), assistant(None, "a", "b"), result("a"), user("wait"), result("b")])

    assert [message.seq for message in newest_group(messages)] == [2, 3, 5]
    assert [message.seq for message in group_of(messages, 2)] == [2, 3, 5]
    assert newest_group([]) == ()


def test_the_newest_message_is_in_its_group_even_as_a_second_result():
    messages = stored([user(), assistant(None, "a"), result("a"), result("a")])

    assert [message.seq for message in newest_group(messages)] == [2, 3, 4]


def test_open_calls_are_those_without_all_results():
    answered = [user(), assistant(None, "a"), result("a")]

    assert open_calls(stored(answered)) == ()
    messages = stored([*answered, assistant(None, "b", "c"), result("b"), user("and?")])
    assert [message.seq for message in open_calls(messages)] == [4, 5]
