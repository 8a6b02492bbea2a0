"""Broken sources become valid in the output, and every repair is said."""

from __future__ import annotations

from sessions.core.repair import MISSING_RESULT, ORPHAN_RESULT, repair
from tests.core.sessions.contexts import assistant, count_message, result, stored, user


def _repaired(*bodies):
    done = repair(stored(bodies), count_message)
    return [message.body for message in done.messages], [(r.kind, r.seq) for r in done.repairs]


def test_it_leaves_a_valid_history_alone():
    bodies = [user(), assistant(None, "a", "b"), result("b"), result("a"), assistant("done")]

    assert _repaired(*bodies) == (bodies, [])


def test_it_moves_late_results_behind_their_call():
    bodies, repairs = _repaired(user(), assistant(None, "a", "b"), result("a"), user("wait"), result("b"))

    assert bodies == [user(), assistant(None, "a", "b"), result("a"), result("b"), user("wait")]
    assert repairs == []


def test_it_says_a_result_without_its_call_as_a_user():
    bodies, repairs = _repaired(user(), result("x", "42"), user())

    assert bodies[1] == {"role": "user", "content": f"{ORPHAN_RESULT}\n42"}
    assert repairs == [("result_without_call", 2)]


def test_it_answers_a_call_that_never_got_a_result():
    bodies, repairs = _repaired(user(), assistant("let me see", "a"), user("never mind"))

    assert bodies[2] == {"role": "tool", "tool_call_id": "a", "content": MISSING_RESULT}
    assert repairs == [("call_without_result", 2)]


def test_it_leaves_the_newest_calls_open():
    done = repair(stored([user(), assistant(None, "a", "b"), result("a")]), count_message)

    assert [message.seq for message in done.messages] == [1, 2, 3]
    assert done.open_from == 1
    assert done.repairs == ()


def test_open_calls_stand_last_even_when_a_user_spoke_meanwhile():
    done = repair(stored([user(), assistant(None, "a", "b"), user("wait"), result("a")]), count_message)

    assert [message.seq for message in done.messages] == [1, 3, 2, 4]
    assert done.open_from == 2


def test_it_renames_repeated_ids_together_with_their_results():
    turn = [assistant(None, "call_0"), result("call_0")]
    bodies, repairs = _repaired(user(), *turn, *turn)

    assert [call["id"] for body in bodies for call in body.get("tool_calls", ())] == ["call_0", "call_0_4"]
    assert [body["tool_call_id"] for body in bodies if body["role"] == "tool"] == ["call_0", "call_0_4"]
    assert repairs == [("duplicate_call_id", 4)]


def test_it_gives_ids_to_calls_without_one():
    call = {"type": "function", "function": {"name": "ls", "arguments": "{}"}}
    answer = {"role": "tool", "content": "a.py"}
    bodies, _ = _repaired(
        user(), {"role": "assistant", "content": None, "tool_calls": [call, call]}, answer, answer
    )

    ids = [call["id"] for call in bodies[1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [body["tool_call_id"] for body in bodies[2:]] == ids


def test_a_second_result_to_one_call_is_no_result_any_more():
    bodies, repairs = _repaired(user(), assistant(None, "a"), result("a", "1"), result("a", "2"), user())

    assert [body["role"] for body in bodies] == ["user", "assistant", "tool", "user", "user"]
    assert repairs == [("result_without_call", 4)]
