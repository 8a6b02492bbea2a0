"""Whether an output is valid, and how much of the last prefix it repeats."""

from __future__ import annotations

import pytest

from sessions.core.proof import is_valid, prefix_pieces, stable_tokens
from tests.core.sessions.contexts import assistant, chat, result, stored, user


@pytest.mark.parametrize(
    ("bodies", "valid"),
    [
        ([user(), assistant(None, "a"), result("a")], True),
        ([{"role": "system", "content": "x"}, user()], True),
        ([assistant()], False),  # not a user first
        ([user(), result("a")], False),  # a result without its call
        ([user(), assistant(None, "a"), user()], False),  # a call without its result
        ([user(), assistant(None, "a"), user(), result("a")], False),  # a result too late
    ],
)
def test_it_knows_what_providers_refuse(bodies, valid):
    assert is_valid(stored(bodies), open_from=None) is valid


def test_open_calls_at_the_end_are_valid():
    assert is_valid(stored([user(), assistant(None, "a")]), open_from=1)


def test_untouched_messages_are_one_piece():
    messages = stored(chat(5, tokens=10))

    assert prefix_pieces("", 0, messages, frozenset()) == ((50, "1-5"),)
    assert len(prefix_pieces("system", 3, messages, frozenset({3}))) == 4


@pytest.mark.parametrize(
    ("previous", "current", "stable"),
    [
        ([], [(50, "1-5")], 0),
        ([(50, "1-5")], [(50, "1-5")], 50),
        ([(50, "1-5")], [(70, "1-7")], 50),  # it grew
        ([(70, "1-7")], [(50, "1-5")], 50),
        ([(9, "aa"), (50, "1-5")], [(9, "aa"), (40, "2-5")], 9),  # it was cut
        ([(9, "aa"), (50, "1-5")], [(9, "bb"), (50, "1-5")], 0),  # another system text
        ([(50, "1-5"), (9, "aa")], [(70, "1-7"), (9, "aa")], 50),  # a block behind it moved
    ],
)
def test_stable_tokens_end_at_the_first_difference(previous, current, stable):
    assert stable_tokens(previous, current) == stable
