"""Messages that are too large are shortened with a visible mark and stay what they are."""

from __future__ import annotations

import json

import pytest

from sessions.core.clipping import clip_message, clip_together, water_level
from tests.core.sessions.contexts import RULER, assistant, count_message, result, stored, text_of, user


@pytest.mark.parametrize(
    ("costs", "room", "level"),
    [
        ([10, 10, 10], 30, 10),  # all fit
        ([10, 10, 100], 60, 40),  # only the largest is cut
        ([50, 50, 50], 60, 20),  # equal ones are cut alike
        ([10, 80, 90], 100, 45),
        ([], 100, 0),
    ],
)
def test_the_water_level_cuts_only_what_is_too_large(costs, room, level):
    assert water_level(costs, room) == level
    assert sum(min(cost, level) for cost in costs) <= room


@pytest.mark.parametrize("limit", [20, 50, 333])
def test_a_clipped_message_fits_and_says_so(limit):
    (message,) = stored([result("a", text_of(1_000))])

    clipped = clip_message(message, limit, RULER)

    assert count_message(clipped.body) == clipped.tokens <= limit
    assert "[clipped" in clipped.body["content"]
    assert clipped.body["tool_call_id"] == "a"


def test_a_clipped_call_keeps_valid_arguments():
    arguments = json.dumps({"content": 'say "hello"\n' * 500})
    (message,) = stored([assistant("writing", "a", "b", arguments=arguments)])

    clipped = clip_message(message, 300, RULER)

    assert 200 < clipped.tokens <= 300
    for call in clipped.body["tool_calls"]:
        assert json.loads(call["function"]["arguments"])["clipped"]


def test_what_fits_is_not_touched():
    (message,) = stored([user("short")])

    assert clip_message(message, message.tokens, RULER) is message


def test_an_image_that_does_not_fit_is_named():
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    (message,) = stored([user([{"type": "text", "text": "look"}, picture])])

    assert "attachments left out" in clip_message(message, 30, RULER).body["content"]


def test_of_two_images_that_do_not_fit_together_the_newest_stays():
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    messages = stored([user([picture]), user([picture])])

    shown = clip_together(messages, 150, RULER)

    assert shown[2] is messages[1]
    assert sum(message.tokens for message in shown.values()) <= 150


def test_a_ladder_keeps_the_level_while_the_room_moves_a_little():
    messages = stored([user(text_of(5_000))])

    levels = {
        clip_together(messages, room, RULER, ladder=6_400)[1].tokens for room in range(1_000, 1_090, 10)
    }

    assert len(levels) == 1
